"""The queries about queues: how far back they reach, and how they are refused."""

from sys import maxsize

from callboard.actors.publisher.queues.queue import Wanted
from callboard.messages.distribution.queue_mail import QueuePage, QueueQuery, QueueSize, Sizes, SizesQuery

Query = QueueQuery | SizesQuery

PAGE_MAX = 1000
"""Packages on a page at most; a query for more gets this many."""


def reach(query: Query) -> int:
    """The oldest offset that must be known to answer."""
    if isinstance(query, QueueQuery):
        return max(query.after + 1, 0)
    return max(min((queue.after for queue in query.queues), default=maxsize) + 1, 0)


def wanted(query: QueueQuery | QueueSize) -> Wanted:
    """The packages that the query is about."""
    return Wanted(query.publisher, query.after, query.subscriber)


def refusal(query: Query, problem: str) -> QueuePage | Sizes:
    """The answer that contains only the problem."""
    if isinstance(query, SizesQuery):
        return Sizes(queues=query.queues, problem=problem)
    queue = QueueSize(publisher=query.publisher, after=query.after, subscriber=query.subscriber)
    return QueuePage(queue=queue, problem=problem)


def page_limit(query: QueueQuery) -> int:
    """How many packages the page has at most."""
    return min(max(query.limit, 0), PAGE_MAX)
