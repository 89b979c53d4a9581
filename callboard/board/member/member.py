"""A member of a cluster, as the embedding service sees it."""

import asyncio
from collections.abc import AsyncGenerator, Callable, Iterable, Mapping
from dataclasses import replace
from types import TracebackType
from typing import TYPE_CHECKING, Self

from callboard.actors.runtime.clock import SystemClock
from callboard.actors.topology.announcements.remote_cluster import RemoteCluster
from callboard.actors.topology.cluster_view import ClusterView, Instance
from callboard.backends.fence import Token
from callboard.board.connect.functions.cancelled_body import CancelledBody
from callboard.board.context import BoardContext
from callboard.board.member.attendance import Attendance
from callboard.board.member.calling import running_loop
from callboard.board.member.dispatch import TopologyListener
from callboard.board.member.identity import claimed
from callboard.board.member.leadership import LeaderLease
from callboard.board.member.listening import Listening
from callboard.board.member.options import MemberPlan
from callboard.board.member.property_sources import Get, PropertySources, Provider
from callboard.board.member.topology_view import AnyInstance, TopologyView, Validity, alone, descriptor, last_good
from callboard.door.limits import TIMEOUT_S_MAX
from callboard.door.members import asked
from callboard.errors import CallboardError, MembershipEnded, RequestRefused
from callboard.messages.topology.cluster_state import Health

if TYPE_CHECKING:
    from callboard.board.topology.changes import ClusterChange

LEAVE_S = 10.0
"""Seconds for listeners and leaders to stop, and for the log to take the message."""

NOT_STARTED = "the member is not started; use it inside `async with`"
ELSEWHERE = (
    "this member runs on another event loop; anywhere else call only topology, is_leader, instances, local_cluster and "
    "holds, or use callboard.sync"
)

CLOSED = "the event loop of this member was closed before it was stopped; open a board again, and make another member"


class Member:
    """This process in a cluster, from ``start`` to ``stop``, or inside ``async with``.

    If it cannot be a member any longer, the body of ``async with`` is cancelled and ``MembershipEnded`` is raised from
    there. If it was evicted, it joins again by itself, as the last in the order. ``topology``, ``is_leader``,
    ``instances`` and ``holds`` never block, and may be called from any thread.
    """

    def __init__(self, board: BoardContext, plan: MemberPlan, now_ms: Callable[[], int] | None = None) -> None:
        self._board, self._plan = board, plan
        clock = SystemClock()
        self._now_ms = now_ms or (lambda: int(clock.now().mono_s * 1000))
        self._sources = PropertySources(dict(plan.agent.properties))
        self._listening = self._new_listening()
        self.attendance: Attendance | None = None
        """What keeps this process in the cluster, while it is started."""
        self._turn = asyncio.Lock()  # to start or stop
        self._loop: asyncio.AbstractEventLoop | None = None
        self._body: CancelledBody | None = None

    def _new_listening(self) -> Listening:
        return Listening(alone(replace(self._plan.agent, properties=self._sources.pairs)), self._plan.event_delay_ms)

    async def start(self) -> None:
        """Start to join the cluster; ``settled`` waits until it is joined. Founds it if there is none.

        Raises:
            RequestRefused: it is started already. After ``stop``, it can start again.
            MembershipEnded: another process of this host runs under this instance id.
            ConfigError: the instance id cannot be kept.
        """
        async with self._turn:
            if self._on_loop() is not None:  # the end of an inner ``async with`` would end the membership of the outer
                raise RequestRefused("this member is started already; stop it first, or make another for this task")
            identity = await claimed(self._plan.agent.instance, self._board)
            attendance = Attendance(self._board, self._plan, identity, self._listening, self._sources, self._now_ms)
            await attendance.begin()
            self.attendance, self._loop = attendance, running_loop()
            self._board.instance = identity.instance
            self._listening.begin(alone(attendance.settings))
            for provider in self._sources.providers:
                attendance.poll(provider)

    async def stop(self, reason: str = "") -> None:
        """Tell the listeners ``CHANGING``, remove them, then leave the cluster. Idempotent. No listener can call it."""
        asked(reason=reason)
        if (running := self._on_loop()) is not None and running.dispatch.is_calling:
            raise RequestRefused("a listener cannot wait for the end of its member; start a task that stops it")
        async with self._turn:
            if self.attendance is not None:
                try:
                    await self.attendance.end(reason, LEAVE_S)
                finally:
                    self.attendance, self._listening = None, self._new_listening()

    async def leave(self, error: BaseException | None = None) -> None:
        """Stop, and raise the error that had ended it; if the body raised ``error``, add it there as a note instead."""
        attendance = self.attendance
        await self.stop()
        try:
            if attendance is not None:
                await attendance.ended()
        except CallboardError as problem:
            if error is None:
                raise
            error.add_note(f"the membership had ended before: {problem}")

    async def ended(self) -> None:
        """Wait until the membership has ended. Raises ``MembershipEnded`` unless it was stopped."""
        await self._running().ended()

    def _on_loop(self) -> Attendance | None:
        """What runs, if anything does. Raises ``RequestRefused`` anywhere but on its event loop."""
        if self.attendance is not None and running_loop() is not self._loop:
            raise RequestRefused(CLOSED if self._loop is None or self._loop.is_closed() else ELSEWHERE)
        return self.attendance

    def _running(self) -> Attendance:
        if (attendance := self._on_loop()) is None:
            raise MembershipEnded(NOT_STARTED)
        return attendance

    # The topology.

    def topology(self) -> TopologyView:
        """The topology: the agreed view or, while it changes, the former one, no longer current. Before the first
        agreement it has only the own instance.
        """
        view, attendance = self._listening.view, self.attendance
        if attendance is None:
            return replace(view, validity=_ENDED) if view.is_current else view
        view = attendance.cluster.refreshed(view)
        return view if attendance.standing or not view.is_current else replace(view, validity=_ENDED)

    def is_leader(self) -> bool:
        """Whether this process leads the current view. It does not in a view that changes; see ``leader_lease``."""
        leader = self.topology().leader
        return leader is not None and leader.is_local

    def local_cluster(self) -> ClusterView | None:
        """The local cluster as the log has it now, settled or not; None as long as this process is not a member."""
        return self.attendance.cluster.fresh() if self.attendance else None

    def instances(
        self, *, tag: str = "", health: Health = Health.BAD, where: Callable[[AnyInstance], bool] | None = None
    ) -> tuple[AnyInstance, ...]:
        """The instances with this tag, with this health or a better one, for which ``where`` is true.

        Instances of other clusters tell no health; only the default finds them. Raises ``RequestRefused``.
        """
        asked(tag=tag, health=health, where=where)
        return tuple(
            each
            for each in self.topology().instances
            if (not tag or tag in each.tags)
            and (health is Health.BAD or (isinstance(each, Instance) and each.health <= health))
            and (where is None or where(each))
        )

    def descriptor(self) -> str:
        """The local cluster as JSON: ``seq``, ``final``, ``id``, ``me``, ``active``, ``deactivating``, ``inactive``.

        Members are the offsets of their joins. ``seq`` is the epoch; ``final`` is true once this process has
        acknowledged it; those that left in views not settled yet are ``deactivating``.
        """
        attendance = self._running()
        return descriptor(attendance.news.state, attendance.settings)

    async def settled(self, epoch: int | None = None, timeout_s: float = 60.0) -> TopologyView:
        """Wait for a current view, of this epoch or a later one; returns it. Raises ``NotAnswered`` if there is none
        after ``timeout_s`` seconds, ``MembershipEnded`` if there will be none.
        """
        asked(epoch=epoch, timeout_s=timeout_s)

        def agreed() -> TopologyView | None:
            view = self.topology()
            return view if view.is_current and view.epoch >= (epoch or 0) else None

        while (view := agreed()) is None:
            await self._running().wait(lambda: agreed() is not None, timeout_s, "agreed")
        return view

    # Listeners.

    def add_listener(self, callback: TopologyListener, *, critical: bool = True, init_delay_s: float = 0.0) -> bool:
        """Call the function with a ``TopologyEvent`` for every change; False if it is a listener already.

        Until a ``critical`` listener has returned from ``CHANGING``, no member is told the next view; so it must stop
        what relies on the former one, and return soon. It is told nothing in the first ``init_delay_s`` seconds.
        """
        asked(callback=callback, critical=critical, init_delay_s=init_delay_s)
        attendance = self._on_loop()
        not_before_ms = self._now_ms() + int(init_delay_s * 1000) if init_delay_s else 0
        added = self._listening.bind(callback, critical=critical, not_before_ms=not_before_ms)
        if attendance is not None:
            attendance.dispatch.pump()
        return added

    def remove_listener(self, callback: TopologyListener) -> bool:
        """Call the function no more; False if it was no listener. Raises ``RequestRefused``."""
        asked(callback=callback)
        attendance = self._on_loop()
        removed = self._listening.unbind(callback)
        if attendance is not None:
            attendance.dispatch.pump()
        return removed

    # Properties, and what this process says of itself.

    async def set_properties(self, properties: Mapping[str, str], timeout_s: float = 30.0) -> None:
        """Replace the service's own properties, and wait until they are on the log. Raises ``RequestRefused`` if they
        are invalid or too large, ``NotAnswered`` if it takes longer than ``timeout_s`` seconds.
        """
        taken = asked(properties=properties, timeout_s=timeout_s)["properties"]
        attendance = self._running()
        self._sources.own.gave(taken)
        attendance.dispatch.pump()
        await attendance.wait(lambda: attendance.has_own_properties, timeout_s, "changed")

    def add_provider(self, names: Iterable[str], get: Get, *, ranking: int = 0) -> Provider:
        """Have the function give properties: it is asked for each name, now and with every renewal.

        If several give the same property, the highest ``ranking`` wins, then the first; the service's own rank as 0 and
        are the first. If it fails, its last values stay. Raises ``RequestRefused``.
        """
        given, attendance = asked(names=names, get=get, ranking=ranking), self._on_loop()
        provider = Provider(given["names"], get, ranking)
        self._sources.providers.append(provider)
        if attendance is not None:
            attendance.poll(provider)
        return provider

    def remove_provider(self, provider: Provider) -> bool:
        """Remove the provider, and with it its properties; False if it was not there."""
        attendance = self._on_loop()
        if provider not in self._sources.providers:
            return False
        self._sources.providers.remove(provider)
        if attendance is not None:
            attendance.tasks.end(provider)
            attendance.dispatch.pump()
        return True

    def report(self, health: Health, load_permille: int = 0) -> None:
        """Tell the cluster how this process is, with its next renewal. Raises ``RequestRefused``."""
        asked(health=health, load_permille=load_permille)
        self._running().says = health, load_permille

    def watch(self, from_epoch: int | None = None) -> "AsyncGenerator[ClusterChange, None]":
        """The changes made by records after ``from_epoch`` (-1: all on the log, None: from now on), and further ones as
        they come, until the board closes. It needs no start. Raises ``RequestRefused`` and, later, ``LogReplaced``.
        """
        from callboard.board.topology.history import watch

        asked(from_epoch=from_epoch)
        return watch(self._board, from_epoch)

    def use_remote(self, remote: Callable[[], tuple[RemoteCluster, ...]]) -> Callable[[], None]:
        """Show these clusters, too. Returns the function to call when they have changed. Raises ``RequestRefused``."""
        asked(remote=remote)
        attendance = self._running()
        attendance.remote = last_good(remote)
        return lambda: attendance.take(attendance.news)

    # Leadership.

    def leader_lease(self, timeout_s: float = TIMEOUT_S_MAX) -> LeaderLease:
        """Leadership, to be used in ``async with``; see ``LeaderLease``. Waits up to ``timeout_s`` seconds for it.

        A view that changes does not end it, unless another one leads.
        """
        asked(timeout_s=timeout_s)
        return LeaderLease(self._running, timeout_s)

    def holds(self, token: Token) -> bool:
        """Whether this process still is the leader with this token, now. Raises ``RequestRefused`` for no token."""
        asked(token=token)
        return self.attendance is not None and self.attendance.holds(token)

    async def __aenter__(self) -> Self:
        await self.start()
        self._body = CancelledBody(self)
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        assert self._body is not None, "entered before"
        instead = self._body.leave(error)  # what ended the membership, and so the body
        await self.leave(error if instead is None else None)


_ENDED = Validity()
_ENDED.ended = True
