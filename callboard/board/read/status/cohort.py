"""The queue of a cohort of subscribers: that of its slowest member."""

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field
from enum import StrEnum

from callboard.actors.core.agent import Agent
from callboard.actors.publisher import roles
from callboard.backends.log import Bounds
from callboard.board.read.queues.queue_sizes import queue_after
from callboard.board.views import CohortQueue, PublisherStatus, QueueState, SubscriberStatus
from callboard.messages.distribution.queue_mail import QueueSize, SizesQuery

NAMED_MAX = 100
"""Limit of subscribers named in a publisher's row, for each reason: a thousand names are too many to read, and each of
a thousand publishers may have them."""


class Cohort(StrEnum):
    """The subscribers whose slowest member is shown: the editable ones, whose outcome decides for others, or all."""

    PERSISTED = "persisted"
    PUBLISHED = "published"


@dataclass(slots=True)
class Followers:
    """The followers of a publisher by name, or those that follow all.

    A cohort consists of the subscribers that others wait for: not those stopped, gone, or forgotten.
    """

    slowest: dict[str, SubscriberStatus] = field(default_factory=dict)
    members: Counter[str] = field(default_factory=Counter)
    blocked: list[str] = field(default_factory=list)
    left_out: list[str] = field(default_factory=list)

    def add(self, row: SubscriberStatus) -> None:
        """Add a subscriber."""
        if not row.counts:
            self.left_out += [row.name] if len(self.left_out) < NAMED_MAX else []
            return
        for cohort in Cohort if row.editable else (Cohort.PUBLISHED,):
            self.slowest[cohort] = min(self.slowest.get(cohort, row), row, key=_place)
            self.members[cohort] += 1
        if row.queue == "blocked" and len(self.blocked) < NAMED_MAX:
            self.blocked.append(row.name)


class Cohorts:
    """Who follows whom, gathered in one pass, as any subscriber can announce a thousand names that it follows."""

    def __init__(self, rows: Iterable[SubscriberStatus]) -> None:
        self._of_all = Followers()
        self._of_one: dict[str, Followers] = {}
        for row in rows:
            named = [self._of_one.setdefault(name, Followers()) for name in set(row.follows)]
            for followers in named or [self._of_all]:
                followers.add(row)

    @property
    def publishers(self) -> Iterable[str]:
        """The publishers that are followed by name."""
        return self._of_one

    def straggler(self, publisher: str, cohort: Cohort) -> tuple[SubscriberStatus | None, int]:
        """The member of the cohort that is furthest behind, and the number of members."""
        both = self._both(publisher)
        slowest = (each.slowest[cohort] for each in both if cohort in each.slowest)
        return min(slowest, key=_place, default=None), sum(each.members[cohort] for each in both)

    def blocked(self, publisher: str) -> tuple[str, ...]:
        """Its subscribers that count and whose queue is blocked, up to the limit of names."""
        return tuple(sorted(name for each in self._both(publisher) for name in each.blocked))[:NAMED_MAX]

    def left_out(self, publisher: str) -> tuple[str, ...]:
        """Its subscribers that do not count, up to the limit of names."""
        return tuple(sorted(name for each in self._both(publisher) for name in each.left_out))[:NAMED_MAX]

    def _both(self, publisher: str) -> list[Followers]:
        return [self._of_all, self._of_one[publisher]] if publisher in self._of_one else [self._of_all]


async def publisher_status(
    agent: Agent, cohorts: Cohorts, names: Iterable[str], bounds: Bounds, now_ns: int, timeout_s: float
) -> tuple[tuple[PublisherStatus, ...], str]:
    """The rows of these publishers, and what went wrong."""
    names = sorted(names)
    wanted = [(name, kind, *cohorts.straggler(name, kind)) for name in names for kind in Cohort]
    asked = [(name, kind, slowest, members) for name, kind, slowest, members in wanted if slowest is not None]
    each = (queue_after(slowest.offset, bounds, name, slowest.name) for name, _, slowest, _ in asked)
    query = SizesQuery(queues=tuple(each), end=bounds.end)
    found = await agent.ask(roles.QUEUE_CACHE, query, timeout_s)
    if found.problem:
        return (), found.problem
    queues = {
        (name, kind): _cohort_queue(kind, slowest, size, members, now_ns)
        for (name, kind, slowest, members), size in zip(asked, found.queues, strict=True)
    }
    return tuple(_publisher(name, cohorts, queues) for name in names), ""


def _publisher(name: str, cohorts: Cohorts, queues: dict[tuple[str, Cohort], CohortQueue]) -> PublisherStatus:
    published = queues.get((name, Cohort.PUBLISHED))
    if published is None or not (published.size or published.uncounted):
        state: QueueState = "idle"
    else:
        state = "blocked" if cohorts.blocked(name) else "running"
    return PublisherStatus(name, state, queues.get((name, Cohort.PERSISTED)), published, cohorts.left_out(name))


def _cohort_queue(cohort: Cohort, slowest: SubscriberStatus, size: QueueSize, members: int, now_ns: int) -> CohortQueue:
    return CohortQueue(
        name=cohort.value,
        publisher=size.publisher,
        size=size.size,
        length=size.length,
        oldest_s=max(0.0, (now_ns - size.oldest_ns) / 1e9) if size.oldest_ns else 0.0,
        straggler=slowest.name,
        offset=slowest.offset,
        state=slowest.queue if size.size or size.uncounted else "idle",
        attempts=slowest.attempts,
        last_error=slowest.last_error,
        members=members,
        uncounted=size.uncounted,
    )


def _place(row: SubscriberStatus) -> tuple[int, int, str]:
    return row.offset, -row.lag_packages, row.name
