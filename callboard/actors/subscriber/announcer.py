"""The announcer: claims the subscriber's name, then tells everyone how it is."""

from collections.abc import Iterable, Iterator
from dataclasses import replace
from random import Random

from callboard.actors.decision import (
    After,
    Done,
    Effect,
    Failed,
    Input,
    Moment,
    Origin,
    PeerUp,
    Send,
    Stopped,
    Stopping,
    Tick,
    note,
)
from callboard.actors.effects import Append, FindBounds, LogRead, ReadLog, TopicBounds
from callboard.actors.subscriber.roles import IMPORTER
from callboard.actors.subscriber.settings import SubscriberSettings
from callboard.errors import SchemaTooNew, Undecodable
from callboard.messages.distribution import DiscoveryMessage, State
from callboard.messages.headers import new_record, open_record
from callboard.messages.mailbox import Admitted, AgentProblem, Problem, Report
from callboard.messages.record import Record

CLAIM_LOOKBACK = 4096
"""How many offsets before its own claim a subscriber searches for another of its name: more than a hundred
subscribers can announce in the time to live of a claim."""
GAP_S = 1.0
"""At most one announcement in so many seconds."""
AGAIN_S = 1.0
GOODBYE_S = 3.0
"""How long the announcer waits for the importer's last words when the agent is stopped."""


class Announcer:
    """Appends what the importer reports, on change but at most once a second, and every ten seconds anyway.

    A name belongs to the instance whose claim, its first announcement, came first on the log and is still alive;
    the log's order decides between two that start at once. An announcer that was itself not heard for
    longer than a claim lives (its process was stopped, say) claims again before it goes on.

    Receives: Report (importer).
    Sends: Admitted (importer), AgentProblem (gateway).
    Stores: nothing.
    Timers: "announce" every ten seconds, "soon" after a change, "again" after a failure, "goodbye".
    Gives up when: another live instance has the name.
    """

    def __init__(self, settings: SubscriberSettings, rng: Random) -> None:
        self._settings = settings
        self._rng = rng
        self._report: DiscoveryMessage | None = None
        self._announced_s = float("-inf")
        self._admitted = self._claiming = self._appending = self._stopping = self._changed = False
        self._refused = ""
        self._count = 0
        self._claim = -1
        self._searched: list[Record] = []

    def receive(self, message: Input, origin: Origin, now: Moment) -> Iterable[Effect]:
        """Handle one input."""
        match message:
            case Report(announcement=announcement):
                yield from self._hear(announcement, now)
            case PeerUp(role=role) if role == IMPORTER and self._admitted:
                yield Send(IMPORTER, Admitted())
            case Done(effect=Append(), result=offsets):
                self._appending = False
                yield from self._appended(offsets[0], now)
            case Done(effect=FindBounds(), result=bounds):
                yield self._search(max(bounds.first, self._claim - CLAIM_LOOKBACK), bounds)
            case Done(effect=ReadLog(), result=read):
                yield from self._found(read, now)
            case Failed(effect=effect, error=error):
                self._appending = False
                yield note("announcement.failed", level="warning", effect=type(effect).__name__, reason=str(error))
                yield After("again", AGAIN_S)
            case Tick(key="goodbye"):
                yield Stopped()
            case Tick(key="again") if self._claiming and self._claim >= 0:
                yield FindBounds(self._settings.topics.discovery)
            case Tick():
                yield from self._announce(now)
            case Stopping():
                self._stopping = True
                yield After("goodbye", GOODBYE_S)
            case _:
                pass

    def _hear(self, announcement: DiscoveryMessage, now: Moment) -> Iterator[Effect]:
        self._changed = self._changed or announcement != self._report
        self._report = announcement
        wait_s = self._announced_s + GAP_S - now.mono_s
        if wait_s <= 0 or announcement.state is State.STOPPED:
            yield from self._announce(now)
        elif self._changed:
            yield After("soon", wait_s)

    def _announce(self, now: Moment) -> Iterator[Effect]:
        if self._report is None or self._appending or (self._claiming and self._claim >= 0):
            return
        if not self._claiming and now.mono_s - self._announced_s > self._settings.claim_ttl_s:
            self._claiming, self._claim = True, -1
        self._appending, self._changed = True, False
        self._count += 1
        message = self._stamped(self._report, now)
        record_id = f"{message.subscriber_instance}/{message.pid}/{self._count}"
        producer = f"{message.subscriber}/{message.subscriber_instance}"
        record = new_record(message, record_id=record_id, time_ns=now.wall_ns, producer=producer)
        yield Append(self._settings.topics.discovery, (record,))
        yield After("announce", self._settings.announce_interval_s)

    def _stamped(self, report: DiscoveryMessage, now: Moment) -> DiscoveryMessage:
        settings = self._settings
        return replace(report, time_ns=now.wall_ns, host=settings.host, pid=settings.pid, version=settings.version)

    def _appended(self, offset: int, now: Moment) -> Iterator[Effect]:
        self._announced_s = now.mono_s
        if self._refused:
            yield Send("gateway", AgentProblem(problem=Problem.SUBSCRIBER_TAKEN, reason=self._refused))
        elif self._stopping and self._report is not None and self._report.state is State.STOPPED and not self._changed:
            yield Stopped()
        elif self._claiming:
            self._claim = offset
            yield FindBounds(self._settings.topics.discovery)
        elif self._changed:
            yield After("soon", 0.0 if self._stopping else GAP_S)

    # The claim.

    def _search(self, start: int, bounds: TopicBounds) -> Effect:
        self._searched.clear()
        return ReadLog(self._settings.topics.discovery, max(start, bounds.first))

    def _found(self, read: LogRead, now: Moment) -> Iterator[Effect]:
        self._searched += [record for record in read.records if record.offset < self._claim]
        if read.next <= self._claim and read.records:
            yield ReadLog(self._settings.topics.discovery, read.next)
            return
        rival = self._rival(now)
        self._claiming, self._claim = False, -1
        self._searched.clear()
        if rival is None:
            self._admitted = True
            yield Send(IMPORTER, Admitted())
            return
        self._refused = self._refusal(rival)
        if self._report is not None:  # take the claim back, so that nobody takes this instance for the holder
            self._report = replace(self._report, state=State.STOPPED, reason="the name is taken")
            yield from self._announce(now)

    def _refusal(self, rival: DiscoveryMessage) -> str:
        where = f"on {rival.host or 'an unknown host'} (process {rival.pid})"
        into = f", into {rival.configuration.repository}" if rival.configuration.repository else ""
        return (
            f"subscriber {self._settings.name!r} already runs as instance {rival.subscriber_instance[:8]} {where}{into}; "
            "stop it, or give this one another name. If it died, its name is free "
            f"{self._settings.claim_ttl_s:.0f} s after its last word"
        )

    def _rival(self, now: Moment) -> DiscoveryMessage | None:
        """The live instance of the same name that announced itself before our claim, if there is one."""
        newest: dict[str, tuple[Record, DiscoveryMessage]] = {}
        for record in self._searched:
            message = self._open(record)
            if message is not None and message.subscriber == self._settings.name:
                newest[message.subscriber_instance] = (record, message)
        own = self._report.subscriber_instance if self._report else ""
        for instance, (record, message) in newest.items():
            age_s = (now.wall_ns - record.time_ns) / 1e9
            if instance != own and message.state is not State.STOPPED and age_s <= self._settings.claim_ttl_s:
                return message
        return None

    @staticmethod
    def _open(record: Record) -> DiscoveryMessage | None:
        if record.header("type") not in ("DiscoveryMessage", "1"):
            return None
        try:
            return open_record(record, DiscoveryMessage)
        except (Undecodable, SchemaTooNew):
            return None  # a version that is not understood cannot be taken for a rival
