"""What subscribers know of themselves, without looking at the whole board."""

import asyncio
from collections.abc import Iterable
from dataclasses import replace
from itertools import chain

from callboard.board.context import BoardContext
from callboard.board.read.status.families import exposed
from callboard.board.read.status.metrics import announced_metrics, build_info, topic_metrics
from callboard.board.read.status.status import subscriber_status
from callboard.board.subscriber import Subscriber
from callboard.messages.distribution.fleet_mail import Liveness, Member
from callboard.web.endpoints.part import report


async def own_metrics(board: BoardContext, edges: Iterable[Subscriber], timeout_s: float) -> str:
    """The metrics of those that are started: a fleet of a thousand, each with the metrics of all, would have a million.

    Raises ``LogUnavailable``, ``NotAnswered``, and what has ended a subscriber.
    """
    topic, now_ns = board.topics.package, board.now_ns()
    bounds = {topic: await board.log.bounds(topic)}
    announced = [replace(await report(edge.agent, timeout_s), ready=edge.ready) for edge in edges if edge.agent]
    members = [Member(announcement=said, liveness=Liveness.LIVE, seen_ns=now_ns) for said in announced]
    rows = [subscriber_status(each, (), (), now_ns) for each in members]
    found = chain(build_info(), announced_metrics(rows, announced), topic_metrics(bounds))
    return await asyncio.to_thread(exposed, found)
