"""``--until-caught-up``: ends when everything is imported, and as soon as it can be told that it will not be."""

import time
from dataclasses import replace

from callboard.board.board import Callboard
from callboard.board.read.status.remedies import why
from callboard.board.read.status.status import BLOCKED_ATTEMPTS, judged, subscriber_status
from callboard.board.subscriber import Subscriber
from callboard.board.views import SubscriberStatus
from callboard.cli.terminal.output import count, show
from callboard.errors import LogUnavailable, NotAnswered, SubscriberStuck
from callboard.messages.distribution.mailbox import Liveness, Member
from callboard.messages.distribution.topic_messages import DiscoveryMessage, State

LOOK_S = 1.0
"""How often it is looked whether the subscriber still moves."""
STILL_S = 10.0
"""What stands in its way for so long, while the position stays, passes only when somebody does something: a server that
is restarted is back sooner, or else the command can be repeated."""


async def until_caught_up(board: Callboard, edge: Subscriber, max_retries: int) -> None:
    """Wait until everything is imported, and say so.

    Raises:
        NotAllImported: everything is processed, but not all of it is imported.
        SubscriberStuck: it cannot go on, or is not likely to: see ``hopeless``.
    """
    at, since_s = ("", -1), time.monotonic()
    while True:
        try:
            await edge.caught_up(LOOK_S)
        except SubscriberStuck:
            raise
        except (NotAnswered, LogUnavailable):
            said = await edge.report()
            now_s = time.monotonic()
            if at != (said.state.name, said.offset):
                at, since_s = (said.state.name, said.offset), now_s
            still_s = now_s - since_s
            staged = said.state is State.STAGED and still_s >= STILL_S
            if hopeless(said, still_s, max_retries) or (staged and (await _judged(board, said)).needs):
                where = f"{edge.name} is {said.state.name.lower()} after offset {said.offset}"
                raise SubscriberStuck(f"{where}: {why((await _judged(board, said)).troubles)}") from None
        else:
            said = await edge.report()
            imported = count(said.imported, "package")
            show(f"{edge.name} is caught up, at offset {said.offset}; it imported {imported} so far")
            return


def hopeless(said: DiscoveryMessage, still_s: float, max_retries: int) -> bool:
    """Whether it is not worth waiting any longer.

    A package that is tried again for ever is waited for until it has failed ``BLOCKED_ATTEMPTS`` times, and one that is
    given up after ``max_retries`` until then. The log, the blob store and the repository have ``STILL_S``.
    """
    if said.state is State.RETRYING:
        return max_retries < 0 and said.attempts >= BLOCKED_ATTEMPTS
    return said.state is State.WAITING and still_s >= STILL_S


async def _judged(board: Callboard, said: DiscoveryMessage) -> SubscriberStatus:
    """What the subscriber has just said, as every view judges it."""
    now_ns = time.time_ns()
    row = subscriber_status(Member(announcement=said, liveness=Liveness.LIVE, seen_ns=now_ns), (), (), now_ns)
    if said.state is not State.STAGED:
        return judged(replace(row, golden=""), {})
    return judged(row, {other.name: other for other in (await board.status()).subscribers})
