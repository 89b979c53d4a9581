"""Leadership: when this process may act as the leader, and a lease that cancels its user in time."""

import asyncio
from collections.abc import Callable
from types import TracebackType
from typing import Protocol

from callboard.actors.topology.cluster_view import ClusterView
from callboard.backends.fence import Token
from callboard.board.connect.functions.cancelled_body import CancelledBody
from callboard.errors import LeadershipLost, RequestRefused


def may_lead(view: ClusterView | None, *, standing: bool, held: Token | None = None) -> Token | None:
    """The token by which the local instance may act as the leader; None if it may not.

    To become the leader, the view must be settled: then the former leader has stopped. One that leads, with the token
    ``held``, goes on as long as every view, settled or not, says the same: no one else can lead before it has
    acknowledged that it does not.
    """
    local = view.local if view is not None else None
    if view is None or local is None or not local.is_leader or not standing:
        return None
    token = Token(view.log_id, view.leader_epoch)
    return token if view.settled or token == held else None


class Lease:
    """Leadership that is held, until it is lost or released."""

    def __init__(self, token: Token) -> None:
        self.token = token
        self.lost = asyncio.Event()

    async def ended(self) -> None:
        """Wait until it is lost, and raise ``LeadershipLost``."""
        await self.lost.wait()
        raise self.why()

    def why(self) -> LeadershipLost:
        """The error."""
        return LeadershipLost(f"this process no longer leads as {self.token}; enter a new lease to wait until it does")


class Leading(Protocol):
    """What a lease needs of the member; see ``Attendance``."""

    leases: set[Lease]

    def may_lead(self) -> Token | None:
        """The token, if this process may begin to act as the leader."""

    async def wait(self, met: Callable[[], bool], timeout_s: float, what: str) -> None:
        """Wait until the condition is met."""

    def review(self) -> None:
        """Do what can be done now."""


class LeaderLease:
    """Leadership, inside ``async with``: waits for it, and gives the fencing token to send with every write.

    If the leadership is lost, the body is cancelled, and ``LeadershipLost`` is raised from the ``async with``. The next
    leader begins only after the body has ended, or after this member was evicted.
    """

    def __init__(self, member: Callable[[], Leading], timeout_s: float) -> None:
        self._member, self._timeout_s = member, timeout_s
        self._held: tuple[Leading, Lease] | None = None
        self._body: CancelledBody | None = None

    async def acquire(self) -> Token:
        """Wait until this process leads; for code that cannot use ``async with``.

        Raises:
            NotAnswered: it does not after the timeout.
            MembershipEnded: it will not.
            RequestRefused: this lease is held already.
        """
        member = self._member()
        while (token := member.may_lead()) is None:
            await member.wait(lambda: member.may_lead() is not None, self._timeout_s, "led by this process")
        if self._held is not None:  # a second one would replace it, and never be released
            raise RequestRefused("this lease is held already; make another with leader_lease()")
        lease = Lease(token)
        member.leases.add(lease)
        self._held = member, lease
        return token

    async def release(self, error: BaseException | None = None) -> None:
        """The work is over, with this error; the next leader may begin. Raises ``LeadershipLost`` if it was lost."""
        held, self._held = self._held, None
        if held is not None:
            member, lease = held
            member.leases.discard(lease)
            member.review()
            if lease.lost.is_set() and error is None:
                raise lease.why()

    async def __aenter__(self) -> Token:
        token = await self.acquire()
        assert self._held is not None
        self._body = CancelledBody(self._held[1])
        return token

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        assert self._body is not None, "entered before"
        instead = self._body.leave(error)
        await self.release(error or instead)
        if instead is not None:
            raise instead
