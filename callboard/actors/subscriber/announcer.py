"""The announcer: claims the subscriber's name, then tells everyone how it is."""

from collections.abc import Iterable, Iterator
from dataclasses import replace
from random import Random

from callboard.actors.agent import GATEWAY
from callboard.actors.decision import (
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
    Stopped,
    Stopping,
    Tick,
    note,
)
from callboard.actors.effects import Append, FindBounds, LogRead, ReadLog, TopicBounds
from callboard.actors.subscriber import claim
from callboard.actors.subscriber.roles import IMPORTER
from callboard.actors.subscriber.settings import SubscriberSettings
from callboard.messages.distribution import DiscoveryMessage, State
from callboard.messages.headers import new_record
from callboard.messages.mailbox import Admitted, AgentProblem, AnnouncedQuery, Problem, Report
from callboard.messages.record import Record

GAP_S = 1.0
"""At most one announcement in so many seconds."""
AGAIN_S = 1.0
GOODBYE_S = 3.0
"""How long the announcer waits for the importer's last words when the agent is stopped."""


class Announcer:
    """Appends what the importer reports, on change but at most once a second, and every ten seconds anyway.

    Its first announcement claims the subscriber's name, see ``claim``. If it was not heard for longer than a claim
    lives (its process was suspended, say), so that another may have the name, it claims anew before it goes on.

    Receives: Report (importer), AnnouncedQuery (gateway), for which it does not wait out the second.
    Sends: Admitted (importer), AgentProblem (gateway).
    Stores: nothing.
    Timers: "announce" every ten seconds, "soon" after a change, "again" after a failure, "goodbye".
    Gives up when: another live instance has the name.
    """

    def __init__(self, settings: SubscriberSettings, rng: Random) -> None:
        self._settings = settings
        self._report: DiscoveryMessage | None = None
        self._said: DiscoveryMessage | None = None  # the last report that was, or is being, announced
        self._appending = False
        self._began_s = float("-inf")  # the last append was begun then, so its record is not older
        self._heard_s = float("-inf")  # likewise, of the last one that succeeded
        self._count = 0
        self._unclaimed = True  # the next announcement is a claim
        self._claim = -1  # the offset of the claim that is being decided about
        self._searched: list[Record] = []
        self._admitted = self._stopping = False
        self._refused = ""
        self._asked: list[tuple[int, Origin]] = []  # who waits for the announcement of which offset

    def receive(self, message: Input, origin: Origin, now: Moment) -> Iterable[Effect]:
        """Handle one input."""
        match message:
            case Report(announcement=announcement):
                yield from self._hear(announcement, now)
            case AnnouncedQuery(offset=offset):
                self._asked.append((offset, origin))
                if self._report is not self._said:
                    yield from self._announce(now)
            case PeerUp(role=role) if role == IMPORTER and self._admitted:
                yield Send(IMPORTER, Admitted())
            case Done(effect=Append(), result=offsets):
                yield from self._appended(offsets[0], now)
            case Done(effect=FindBounds(), result=bounds):
                yield from self._search(bounds)
            case Done(effect=ReadLog(), result=read):
                yield from self._searched_on(read, now)
            case Failed(effect=effect, error=error):
                self._appending, self._claim = False, -1  # an undecided claim is made anew; the older one counts too
                yield note("announcement.failed", "warning", effect=type(effect).__name__, reason=str(error))
                yield After("again", AGAIN_S)
            case Tick(key=key):
                yield from [Stopped()] if key == "goodbye" else self._announce(now)
            case Stopping():
                self._stopping = True
                yield After("goodbye", GOODBYE_S)
            case _:
                pass
        yield from self._answer()
        if self._stopping and self._has_left():
            yield Stopped()

    def _answer(self) -> Iterator[Effect]:
        if not self._asked or self._appending or self._said is None or not self._admitted:
            return
        announced = self._said.offset
        yield from (Reply(origin, Admitted()) for offset, origin in self._asked if offset <= announced)
        self._asked = [(offset, origin) for offset, origin in self._asked if offset > announced]

    def _has_left(self) -> bool:
        """Whether the last word is said, or none is to be said because there was no first one."""
        said = self._said
        return not self._appending and (said is None or (said.state is State.STOPPED and said is self._report))

    def _hear(self, announcement: DiscoveryMessage, now: Moment) -> Iterator[Effect]:
        if self._refused or announcement == self._report:
            return
        self._report = announcement
        wait_s = self._heard_s + GAP_S - now.mono_s
        if wait_s <= 0 or self._asked or announcement.state is State.STOPPED:
            yield from self._announce(now)
        else:
            yield After("soon", wait_s)

    def _announce(self, now: Moment) -> Iterator[Effect]:
        if self._report is None or self._appending or self._claim >= 0:
            return
        self._appending, self._said, self._began_s = True, self._report, now.mono_s
        self._count += 1
        settings = self._settings
        message = replace(
            self._report, time_ns=now.wall_ns, host=settings.host, pid=settings.pid, version=settings.version
        )
        record_id = f"{message.subscriber_instance}/{message.pid}/{self._count}"
        producer = f"{message.subscriber}/{message.subscriber_instance}"
        record = new_record(message, record_id=record_id, time_ns=now.wall_ns, producer=producer)
        yield Append(settings.topics.discovery, (record,))

    def _appended(self, offset: int, now: Moment) -> Iterator[Effect]:
        silent_s = now.mono_s - self._heard_s
        self._appending, self._heard_s = False, self._began_s
        if self._refused:
            yield Send(GATEWAY, AgentProblem(problem=Problem.SUBSCRIBER_TAKEN, reason=self._refused))
            return
        yield After("announce", self._settings.announce_interval_s)
        if self._unclaimed or silent_s > self._settings.claim_ttl_s:
            self._unclaimed, self._claim = True, offset
            yield FindBounds(self._settings.topics.discovery)
        elif self._report is not self._said:
            yield After("soon", 0.0 if self._stopping or self._asked else GAP_S)

    # The claim: our announcement at this offset must follow no other live instance of the same name.

    def _search(self, bounds: TopicBounds) -> Iterator[Effect]:
        self._searched.clear()
        if self._claim >= 0:
            start = max(bounds.first, self._claim - claim.LOOKBACK)
            yield ReadLog(self._settings.topics.discovery, start)

    def _searched_on(self, read: LogRead, now: Moment) -> Iterator[Effect]:
        self._searched += [record for record in read.records if record.offset <= self._claim]
        if read.next <= self._claim and read.records:
            yield ReadLog(self._settings.topics.discovery, read.next)
            return
        holder = claim.holder(self._settings.name, self._searched, self._settings.claim_ttl_s)
        self._claim = -1
        self._searched.clear()
        assert self._said is not None
        if holder is None or holder.subscriber_instance == self._said.subscriber_instance:
            self._unclaimed = False
            if not self._admitted:
                self._admitted = True
                yield Send(IMPORTER, Admitted())
            if self._report is not self._said:
                yield After("soon", 0.0 if self._stopping or self._asked else GAP_S)
            return
        self._refused = self._refusal(holder)
        # Take the claim back, so that nobody waits for it to run out.
        self._report = replace(self._said, state=State.STOPPED, reason="the name is taken")
        yield from self._announce(now)

    def _refusal(self, holder: DiscoveryMessage) -> str:
        where = f"on {holder.host or 'an unknown host'} (process {holder.pid})"
        into = f", into {holder.configuration.repository}" if holder.configuration.repository else ""
        return (
            f"subscriber {self._settings.name!r} already runs as instance {holder.subscriber_instance[:8]} "
            f"{where}{into}; stop it, or give this one another name. If it died, its name is free "
            f"{self._settings.claim_ttl_s:.0f} s after its last word"
        )
