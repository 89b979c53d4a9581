"""The golden watcher: reads the golden subscriber's statuses and announcements."""

from collections.abc import Iterable, Iterator
from random import Random

from callboard.actors.core.claims import NameHolder
from callboard.actors.core.decision import Effect, Input, Moment, Origin, Send, Stopped, Stopping, note
from callboard.actors.core.follower import Delivered, Follower, Replaced, Unavailable, from_first, from_offset
from callboard.actors.subscriber.roles import IMPORTER
from callboard.actors.subscriber.settings import SubscriberSettings
from callboard.actors.subscriber.staging.verdict_table import VerdictTable
from callboard.errors import SchemaTooNew, Undecodable
from callboard.messages.distribution.mailbox import Verdicts, VerdictsWanted
from callboard.messages.distribution.topic_messages import DiscoveryMessage, PackageStatusMessage
from callboard.messages.headers import may_be_by, open_record
from callboard.messages.record import Record
from callboard.messages.repeated import original_of

VERDICTS_MAX = 50_000
"""Verdicts in memory, about 300 bytes each. If a golden subscriber is further ahead its later ones are read again."""
INSTANCES_MAX = 1000
"""Repositories remembered that had one name: a name changes hands at most once in half a minute."""
WINDOW = 200
"""Verdicts in one mail: a few batches of imports."""


class GoldenWatcher:
    """Answers with the golden subscriber's verdicts, each as last reported on the status topic. Those of an
    instance count that had the golden subscriber's name, by the announcements; see ``VerdictTable.window`` for others.

    Receives: VerdictsWanted (importer).
    Sends: Verdicts (importer), when everything on the log has been read, and again on every change.
    Stores: the verdicts on packages yet to come, in memory, up to ``VERDICTS_MAX``.
    Timers: the followers' back-offs, 0.1 to 5 s.
    Gives up: never; the followers try again. A status that cannot be read is skipped, with a line in the log.
    """

    def __init__(self, settings: SubscriberSettings, rng: Random, most: int = VERDICTS_MAX) -> None:
        self._name = settings.golden
        self._rng = rng
        self._topic = settings.topics.status
        self._table = VerdictTable(most)
        self._statuses = Follower(self._topic, from_first(), rng)
        self._announcements = Follower(settings.topics.discovery, from_first(), rng)
        self._holder = NameHolder(settings.golden)
        self._golden: DiscoveryMessage | None = None
        self._instances: dict[str, None] = {}  # instances that had the name, the first holder first
        self._foreign: set[str] = set()  # other instances that sent verdicts
        self._problem = ""
        self._wanted: VerdictsWanted | None = None
        self._said: Verdicts | None = None

    def receive(self, message: Input, origin: Origin, now: Moment) -> Iterable[Effect]:
        """Handle one input."""
        match message:
            case VerdictsWanted():
                yield from self._want(message)
            case Stopping():
                yield Stopped()
                return
            case _:
                yield from self._follow(message)
        yield from self._tell()

    def _want(self, wanted: VerdictsWanted) -> Iterator[Effect]:
        first, self._wanted, self._said = self._wanted is None, wanted, None
        self._table.forget_below(wanted.offset)
        if first:
            yield from self._statuses.start()
            yield from self._announcements.start()
        elif 0 <= self._table.cut <= wanted.offset:
            again = from_offset(self._table.read_again(), self._statuses.log_id)
            self._statuses = Follower(self._topic, again, self._rng)
            yield from self._statuses.start()

    def _follow(self, message: Input) -> Iterator[Effect]:
        news, effects = self._statuses.handle(message)
        if isinstance(news, Replaced):
            self._start_over()
        elif isinstance(news, Delivered):
            self._problem = ""
            for record in news.records:
                yield from self._fold(record)
        elif isinstance(news, Unavailable):
            self._problem = news.reason
        yield from effects
        heard, effects = self._announcements.handle(message)
        if isinstance(heard, Delivered):
            for record in heard.records:
                self._hear(record)
        yield from effects
        if self._foreign & self._instances.keys():  # read its verdicts again, as those of a holder
            self._start_over()
            self._statuses = Follower(self._topic, from_first(), self._rng)
            yield from self._statuses.start()

    def _start_over(self) -> None:
        self._table.start_over()
        self._foreign.clear()

    def _fold(self, record: Record) -> Iterator[Effect]:
        if record.header("type") not in ("PackageStatusMessage", "3") or not may_be_by(record, self._name):
            return
        try:
            status = open_record(record, PackageStatusMessage)
        except (SchemaTooNew, Undecodable) as error:
            yield note("verdict.undecodable", "error", golden=self._name, offset=record.offset, reason=str(error))
            return
        if status.subscriber != self._name:
            return
        foreign = status.subscriber_instance not in self._instances
        if foreign and len(self._foreign) < INSTANCES_MAX:
            self._foreign.add(status.subscriber_instance)
        repeated = original_of(record) is not None
        self._table.add(status, record.offset, record.time_ns, repeated=repeated, foreign=foreign)

    def _hear(self, record: Record) -> None:
        self._holder.begin(record.offset)
        if not may_be_by(record, self._name):
            return
        had = self._holder.claim is not None
        has = self._holder.fold((record,)) is not None
        if not (had or has) or (last := self._holder.last) is None:
            return
        self._golden = last.said
        if has:
            self._instances[last.said.subscriber_instance] = None
            if len(self._instances) > INSTANCES_MAX:
                del self._instances[next(iter(self._instances))]

    def _tell(self) -> Iterator[Effect]:
        wanted = self._wanted
        known = self._statuses.caught_up and self._announcements.caught_up
        if wanted is None or not (known or self._problem):
            return
        position = self._golden.offset if self._golden is not None else -1
        verdicts = self._table.window(wanted.offset, WINDOW, position) if self._statuses.caught_up else ()
        said = Verdicts(offset=wanted.offset, verdicts=verdicts, golden=self._golden, problem=self._problem)
        if said != self._said:
            self._said = said
            yield Send(IMPORTER, said)
