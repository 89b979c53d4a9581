"""The announcer: claims the subscriber's name, then announces the subscriber's state."""

from collections.abc import Iterable, Iterator
from dataclasses import replace
from random import Random

from callboard.actors.core.agent import GATEWAY
from callboard.actors.core.decision import (
    After,
    Done,
    Effect,
    Failed,
    Input,
    Moment,
    Origin,
    PeerUp,
    Reply,
    Send,
    Started,
    Stopped,
    Stopping,
    Tick,
    note,
)
from callboard.actors.core.effects import Append, FindBounds, ReadLog
from callboard.actors.subscriber.reporting.lease_holder import LeaseHolder, News
from callboard.actors.subscriber.reporting.pace import Pace
from callboard.actors.subscriber.reporting.readiness import Readiness
from callboard.actors.subscriber.roles import IMPORTER
from callboard.actors.subscriber.settings import SubscriberSettings
from callboard.content.package_format.manifest import VERSION
from callboard.messages.bounds import fitted
from callboard.messages.distribution.mailbox import (
    Admitted,
    AgentProblem,
    AnnouncedQuery,
    Problem,
    Ready,
    ReadyQuery,
    Report,
)
from callboard.messages.distribution.topic_messages import DiscoveryMessage, LogMessage, State
from callboard.messages.event import Event
from callboard.messages.headers import new_record
from callboard.messages.record import NewRecord

AGAIN_S = 1.0
GOODBYE_S = 3.0
"""How long the announcer waits at a stop for the importer's last report, once it imports nothing."""
READY = "ready"
"""The timer to check whether the subscriber has become ready."""


class Announcer:
    """Appends the importer's reports, on change but at most once a second, and every ``announce_interval_s`` anyway; in
    a large fleet less often, see ``Pace``.

    Its first announcement claims the subscriber's name, and each one is looked up on the log, see ``LeaseHolder``:
    only when it is found there with no other holder, the importer learns until when the name is ours; it
    imports nothing after that. ``Readiness`` decides when it is ready.

    Receives: Report, LogMessage (importer), AnnouncedQuery (gateway), which does not wait for the second to pass,
        ReadyQuery (gateway).
    Sends: Admitted (importer), AgentProblem (gateway); Admitted and Ready, to the asker.
    Stores: announcements, and the importer's LogMessages, on the discovery topic.
    Timers: "announce", the pace's interval after the last one; "soon", up to its gap after a change; "again", 1 s after
        a failure; "ready", when readiness is checked next; "goodbye", 3 s.
    Gives up: when another live instance has the name, unless it stands by.
    """

    def __init__(self, settings: SubscriberSettings, rng: Random) -> None:
        self._settings = settings
        self._pace = Pace(settings.announce_interval_s, rng)
        self._lease = LeaseHolder(settings, self._pace.fleet)
        self._readiness = Readiness(settings)
        self._report: DiscoveryMessage | None = None
        self._said: DiscoveryMessage | None = None  # the last report that was, or is being, announced
        self._claim: DiscoveryMessage | None = None  # the same, as it is on the log
        self._claiming = False  # the announcement is being appended
        self._began_s = float("-inf")  # when the last append began, so its record is not older
        self._heard_s = float("-inf")  # likewise, of the last successful one
        self._count = 0
        self._admitted = self._stopping = False
        self._asked: list[tuple[int, Origin]] = []  # callers, and the offset whose announcement they wait for
        self._ready_asked: list[Origin] = []

    def receive(self, message: Input, origin: Origin, now: Moment) -> Iterable[Effect]:
        """Handle one input."""
        match message:
            case Started() if not self._settings.standby:
                self._readiness.begin(now)
            case Report():
                self._readiness.observe(message, now)
                yield from self._hear(self._dressed(message.announcement), now)
            case LogMessage():
                yield Append(self._settings.topics.discovery, (self._record(message, now),))
            case AnnouncedQuery(offset=offset):
                self._asked.append((offset, origin))
                if self._report is not self._said:
                    yield from self._announce(now)
            case ReadyQuery():
                self._ready_asked.append(origin)
            case PeerUp(role=role) if role == IMPORTER and self._admitted:
                yield self._admit()
            case Done() | Failed():
                yield from self._log_answered(message, now)
            case Tick(key=key):
                yield from self._tick(key, now)
            case Stopping():
                self._stopping = True
                yield After("goodbye", GOODBYE_S)
            case _:
                pass
        yield from self._check_readiness(now)
        yield from self._answer()
        if self._stopping and self._has_left():
            yield Stopped()

    def _log_answered(self, outcome: Done | Failed, now: Moment) -> Iterator[Effect]:
        if isinstance(outcome, Failed):
            effect = type(outcome.effect).__name__
            yield note("announcement.failed", "warning", effect=effect, reason=str(outcome.error))
        match outcome:
            case Done(Append(owner="claim"), (int() as offset,)):
                yield from self._appended(offset)
            case Failed(Append(owner="claim")):
                self._claiming = False
                yield After("again", AGAIN_S)
            case Done(FindBounds() | ReadLog()) | Failed(FindBounds() | ReadLog()):
                yield from self._follow(outcome, now)

    def _tick(self, key: str, now: Moment) -> Iterator[Effect]:
        if key == "goodbye":
            busy = self._report is not None and self._report.state is State.IMPORTING
            yield After(key, GOODBYE_S) if busy else Stopped()
        elif key == "again" and self._lease.watching:
            yield from self._lease.watch()
        elif key != READY:
            yield from self._announce(now)

    def _answer(self) -> Iterator[Effect]:
        if not self._asked or self._claiming or self._said is None or not self._admitted:
            return
        announced = self._said.offset
        yield from (Reply(origin, Admitted()) for offset, origin in self._asked if offset <= announced)
        self._asked = [(offset, origin) for offset, origin in self._asked if offset > announced]

    def _has_left(self) -> bool:
        """Whether the goodbye is on the log, or not needed because there was no announcement."""
        said = self._said
        if self._claiming:
            return False
        if self._lease.watching or self._lease.refusal or said is None:
            return True
        return said.state is State.STOPPED and said is self._report

    def _check_readiness(self, now: Moment) -> Iterator[Effect]:
        became, wait_s = self._readiness.check(now), self._readiness.wait_s(now)
        if wait_s is not None:
            yield After(READY, wait_s)
        if became:
            yield After(READY, -1)
            yield note("subscriber.ready", reason=self._readiness.reason)
        if became and self._report is not None and self._report.state is not State.STOPPED:
            yield from self._hear(self._dressed(self._report), now)
        if self._readiness.reason:
            yield from (Reply(origin, Ready(reason=self._readiness.reason)) for origin in self._ready_asked)
            self._ready_asked.clear()

    # Announcing.

    def _dressed(self, report: DiscoveryMessage) -> DiscoveryMessage:
        """The report with the fields that the announcer adds, except the time."""
        settings, reason = self._settings, self._readiness.reason
        return replace(
            report,
            host=settings.host,
            pid=settings.pid,
            version=settings.version,
            package_version=VERSION if report.site is None else min(VERSION, report.site.package_version),
            place=settings.place,
            ready=bool(reason),
            ready_reason=reason or self._readiness.pending_reason(),
        )

    def _hear(self, announcement: DiscoveryMessage, now: Moment) -> Iterator[Effect]:
        if self._lease.refusal or announcement == self._report:
            return
        if self._report is self._said:
            self._pace.change(now.mono_s)
        self._report = announcement
        wait_s = self._pace.wait_s(self._heard_s, now.mono_s)
        if wait_s <= 0 or self._asked or announcement.state is State.STOPPED:
            yield from self._announce(now)
        else:
            yield After("soon", wait_s)

    def _announce(self, now: Moment) -> Iterator[Effect]:
        if self._report is None or self._claiming or self._lease.deciding or self._lease.watching:
            return
        self._said, self._began_s = self._report, now.mono_s
        interval_ms = int(self._pace.begin() * 1000)
        self._claim = self._lease.dressed(replace(self._report, time_ns=now.wall_ns, announce_interval_ms=interval_ms))
        self._claiming = True
        yield Append(self._settings.topics.discovery, (self._record(self._claim, now),), owner="claim")

    def _record(self, message: DiscoveryMessage | LogMessage, now: Moment) -> NewRecord:
        self._count += 1
        message = fitted(message)
        instance = message.subscriber_instance
        return new_record(
            message,
            record_id=f"{instance}/{self._settings.pid}/{self._count}",
            time_ns=now.wall_ns,
            producer=f"{message.subscriber}/{instance}",
        )

    def _appended(self, offset: int) -> Iterator[Effect]:
        self._claiming, self._heard_s = False, self._began_s
        if self._lease.refusal:
            yield self._give_up()
            return
        assert self._claim is not None
        yield After("announce", self._pace.rest_s())
        yield from self._lease.announced(self._claim, offset, self._began_s)

    def _go_on(self) -> Iterator[Effect]:
        if self._report is not self._said:
            yield After("soon", 0.0 if self._stopping or self._asked else self._pace.gap_s)

    # The name.

    def _follow(self, message: Input, now: Moment) -> Iterator[Effect]:
        news, effects = self._lease.handle(message, now)
        yield from effects
        match news:
            case News.OURS:
                if not self._admitted:
                    self._admitted = True
                    self._readiness.begin(now)
                    self._remember()
                yield self._admit()
                yield from self._go_on()
                if now.mono_s - self._began_s >= self._pace.interval_s:
                    yield from self._announce(now)  # the timer has expired while this one was decided
            case News.HELD:
                yield from self._dismiss(now)
            case News.REFUSED:
                yield from self._dismiss(now)
                yield from self._withdraw(now)
            case News.FREE:
                yield from self._announce(now)
            case News.UNKNOWN:
                yield After("again", AGAIN_S)

    def _admit(self) -> Send:
        return Send(IMPORTER, Admitted(until_ms=self._lease.until_ms))

    def _dismiss(self, now: Moment) -> Iterator[Effect]:
        """Another instance has the name: the importer must stop."""
        holder = self._lease.holder
        where = f"{holder.host} ({holder.pid})" if holder is not None else ""
        yield note("name.held", "warning", by=where)
        if self._admitted:
            self._admitted = False
            yield Send(IMPORTER, Admitted(until_ms=int(now.mono_s * 1000)))

    def _remember(self) -> None:
        """Be as ready as the former announcer of this agent was."""
        before, settings = self._lease.holder, self._settings
        if before is not None and before.ready and (before.host, before.pid) == (settings.host, settings.pid):
            self._readiness.reason = self._readiness.reason or before.ready_reason
            self._report = self._report and self._dressed(self._report)

    def _withdraw(self, now: Moment) -> Iterator[Effect]:
        """Withdraw the claim, so that no one waits for it to expire. If the holder is a copy of us, the goodbye would
        be taken for its own.
        """
        holder, said = self._lease.holder, self._said
        assert said is not None
        if holder is not None and holder.subscriber_instance == said.subscriber_instance:
            yield self._give_up()
            return
        self._report = replace(said, state=State.STOPPED, reason="the name is taken")
        yield from self._announce(now)

    def _give_up(self) -> Send:
        problem: Event = AgentProblem(problem=Problem.SUBSCRIBER_TAKEN, reason=self._lease.refusal)
        return Send(GATEWAY, problem)
