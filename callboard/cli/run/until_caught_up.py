"""``--until-caught-up``: ends when everything is imported, or as soon as it is clear that it will not be."""

import time
from dataclasses import replace

from callboard.board.board import Callboard
from callboard.board.read.status.remedies import why
from callboard.board.read.status.status import BLOCKED_ATTEMPTS, judged, subscriber_status
from callboard.board.subscriber import Subscriber
from callboard.board.views import SubscriberStatus
from callboard.cli.terminal.output import show
from callboard.errors import LogUnavailable, NotAnswered, SubscriberStuck
from callboard.messages.distribution.fleet_mail import Liveness, Member
from callboard.messages.distribution.topic_messages import DiscoveryMessage, State
from callboard.units import count

LOOK_S = 1.0
"""How often to check whether the subscriber still moves."""
STILL_S = 10.0
"""An obstacle that holds the position for so long is assumed to need intervention: a restarting server is back sooner,
and otherwise the command can be repeated."""


async def until_caught_up(board: Callboard, edge: Subscriber, max_retries: int) -> None:
    """Wait until everything is imported, and report it.

    Raises:
        NotAllImported: everything is processed, but not all of it is imported.
        SubscriberStuck: it cannot continue, or is unlikely to: see ``hopeless``.
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
            if at != (said.state.name, said.own_offset):
                at, since_s = (said.state.name, said.own_offset), now_s
            still_s = now_s - since_s
            staged = said.state is State.STAGED and still_s >= STILL_S
            if hopeless(said, still_s, max_retries) or (staged and (await _judged(board, said)).needs):
                where = f"{edge.name} is {said.state.name.lower()} after offset {said.own_offset}"
                raise SubscriberStuck(f"{where}: {why((await _judged(board, said)).troubles)}") from None
        else:
            said = await edge.report()
            packages, did = count(said.imported, "package"), "relayed" if said.site else "imported"
            show(f"{edge.name} is caught up, at offset {said.own_offset}; it {did} {packages} so far")
            return


def hopeless(said: DiscoveryMessage, still_s: float, max_retries: int) -> bool:
    """Whether waiting longer is pointless.

    A package that is retried for ever may fail ``BLOCKED_ATTEMPTS`` times; with ``max_retries`` it is waited for until
    it is given up. The log, the blob store and the repository may be down for ``STILL_S``.
    """
    if said.state is State.RETRYING:
        return max_retries < 0 and said.attempts >= BLOCKED_ATTEMPTS
    return said.state is State.WAITING and still_s >= STILL_S


async def _judged(board: Callboard, said: DiscoveryMessage) -> SubscriberStatus:
    """The status that every view shows for this announcement."""
    now_ns = time.time_ns()
    row = subscriber_status(Member(announcement=said, liveness=Liveness.LIVE, seen_ns=now_ns), (), (), now_ns)
    if said.state is not State.STAGED:
        return judged(replace(row, golden=""), {})
    return judged(row, {other.name: other for other in (await board.status()).subscribers})
