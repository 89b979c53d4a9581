"""Makes the table of a projection, and sends the commands of a reaction."""

from collections import deque
from collections.abc import Iterable, Iterator, Mapping
from hashlib import sha256
from math import inf
from random import Random
from typing import NamedTuple

from callboard.actors.core.backoff import RETRY, Backoff
from callboard.actors.core.decision import (
    After,
    Done,
    Effect,
    Failed,
    Input,
    Moment,
    Origin,
    Reply,
    Started,
    Stopped,
    Stopping,
    Tick,
    note,
)
from callboard.actors.core.effects import EnsureTopic, ReadLog
from callboard.actors.core.fold_effects import ClearFold, LoadFold, PublishFold, RebuildFold, SaveFold
from callboard.actors.core.follower import (
    Delivered,
    Follower,
    OutOfRange,
    Positioned,
    Replaced,
    from_first,
    from_offset,
)
from callboard.actors.core.lease import ORIGIN
from callboard.actors.entities import mark as marks
from callboard.actors.entities.announcer import Announced, FoldAnnouncer
from callboard.actors.entities.asking import AskEntity
from callboard.actors.entities.mark import Place
from callboard.actors.entities.processes.process import Ask
from callboard.actors.entities.projections.batch import Batch, Cache, Folded
from callboard.actors.entities.projections.projection import Recorded
from callboard.actors.entities.projections.settings import ProjectorSettings
from callboard.backends.fold_store import Loaded
from callboard.errors import CallboardError, ConfigError, SchemaTooNew
from callboard.messages.entities.entity_mail import EntityCommand, EntityOutcome, FoldQuery, FoldRebuild, FoldState
from callboard.messages.entities.entity_messages import FoldPlace
from callboard.messages.entities.sealing import sealed
from callboard.messages.record import Record

READ_MAX, READ_BYTES = 2000, 1 << 20
"""Records of one batch. A read of less than half of them, and less than so many bytes, had all that was there."""

STANDBY_S, AWAITED_S = 5.0, 0.2
"""How often a projector on standby looks whether another one goes on; the second while somebody waits for that."""

ASKING_MAX = 100
"""Commands of a reaction on their way at once."""

AGAIN = Backoff(first_s=0.5, max_s=60.0)
"""Between attempts to send a command."""

Request = LoadFold | SaveFold | ClearFold | PublishFold | RebuildFold


class Waiting(NamedTuple):
    """What is to be folded: the batch, the effects that go on reading, and the time before which its records were not
    on the log.
    """

    batch: Batch
    effects: tuple[Effect, ...]
    since_s: float


class Projector:
    """Folds topics into the rows of a store; the rows and the places on the topics change together. Of several
    projectors on one store one works, and the others are on standby.

    Receives: FoldQuery, answered when it has stored as much; FoldRebuild.
    Sends: FoldState, to the service; commands to entities, if it is a reaction.
    Stores: rows, places, and the last commit of each entity.
    Timers: "store", "standby" and "asks"; the followers'.
    Gives up: at an event that cannot be read or folded, or whose beginning was removed, with the problem in its state.
    """

    def __init__(self, settings: ProjectorSettings, rng: Random) -> None:
        self._settings, self._rng = settings, rng
        self._queries: list[tuple[Origin, FoldQuery]] = []
        self._attempt = 0
        self._refused = self._begun = 0
        self._missing = {topic for topic, entity in settings.topics if entity is not None}
        kind = "reaction" if settings.row is None else "projection"
        self._announcer = FoldAnnouncer(Announced(settings.announce, kind, settings.name, settings.instance), rng)
        self._begin()

    def _begin(self) -> None:
        self._begun += 1
        self._mark = ""
        self._places: dict[str, Place] = {}
        self._followers: dict[str, Follower] = {}
        self._request: Request | None = None
        self._waiting = deque[Waiting]()
        self._folded: Folded | None = None
        self._asks: dict[str, AskEntity] = {}  # of the batch, not answered yet
        self._asking: set[str] = set()
        self._later: list[str] = []
        self._problem = ""
        self._is_standby = self._is_live = self._is_awaited = False
        self._cache: Cache = {}
        self._begun_s: dict[str, float] = {}  # when the last read of a topic began
        self._read_s: dict[str, float] = {}  # when the one before it began, if it had all that was there

    def receive(self, message: Input, origin: Origin, now: Moment) -> Iterable[Effect]:
        """Handle one input."""
        for effect in self._handle(message, origin, now):
            if isinstance(effect, ReadLog):
                self._begun_s[effect.topic] = now.mono_s
            yield effect

    def _handle(self, message: Input, origin: Origin, now: Moment) -> Iterator[Effect]:
        match message:
            case Started() | Tick("store" | "standby") | Done(EnsureTopic()) | Failed(EnsureTopic()):
                self._is_awaited = False
                yield from self._begin_work(message)
            case FoldQuery():
                self._queries.append((origin, message))
                if self._is_standby and not self._is_awaited:
                    yield self._look_again()
            case FoldRebuild():
                yield Reply(origin, self._state())
                yield from self._rebuild("it was asked for")
            case Stopping():
                pass
            case Done(effect, result) if effect is self._request:
                self._request, self._attempt = None, 0
                yield from self._answered(effect, result)
            case Failed(effect, error) if effect is self._request:
                yield from self._failed(error)
            case Done(AskEntity()) | Failed(AskEntity()) | Tick("asks"):
                yield from self._heard(message)
            case _:
                yield from self._follow(message)
        yield from self._work()
        yield from self._tell()
        yield from self._announcer.handle(message, self._word, self._state, now)
        if self._announcer.has_left:
            yield Stopped()

    def _begin_work(self, message: Input) -> Iterator[Effect]:
        """Create the topics of the entities that have none yet, then open the store; ask it again when it failed."""
        match message:
            case Failed(EnsureTopic(), error):
                yield from self._failed(error)
                return
            case Done(EnsureTopic(topic=topic)):
                self._missing.discard(topic)
        if self._missing:
            yield EnsureTopic(min(self._missing))
        elif self._request is not None:
            yield self._request
        elif not isinstance(message, Tick) or self._is_standby:
            yield from self._ask(LoadFold({}))

    # The store.

    def _ask(self, request: Request) -> Iterator[Effect]:
        self._request = request
        yield request

    def _failed(self, error: CallboardError) -> Iterator[Effect]:
        if isinstance(error, ConfigError | SchemaTooNew):
            self._request = None
            yield from self._stop(str(error))
            return
        self._attempt += 1
        level = "warning" if self._attempt == 1 else "debug"
        yield note("projection.failed", level, name=self._settings.name, attempt=self._attempt, error=str(error))
        yield After("store", RETRY.delay_s(self._attempt, self._rng))

    def _answered(self, effect: Request, result: Loaded | str | None) -> Iterator[Effect]:
        match effect:
            case LoadFold(keys=keys) if keys:
                assert isinstance(result, Loaded)
                yield from self._fold(keys, result)
            case LoadFold():
                assert isinstance(result, Loaded)
                yield from self._open(result.mark)
            case RebuildFold():
                self._begin()
                yield from self._ask(LoadFold({}))
            case PublishFold():
                self._is_live = True
                yield note("projection.published", name=self._settings.name)
            case SaveFold(mark=mark):
                if result == mark:
                    yield from self._saved(mark)
                else:
                    yield from self._stand_by(str(result))
            case ClearFold():
                yield from self._open(str(result))

    def _open(self, mark: str) -> Iterator[Effect]:
        """Follow the topics from where the store is, unless another projector goes on."""
        was, was_standby = self._mark, self._is_standby
        if was_standby and mark != was:
            self._mark, self._places = mark, marks.read(mark)
            yield self._look_again()
            return
        self._begin()
        self._mark, self._places = mark, marks.read(mark)
        for topic, _ in self._settings.topics:
            place = self._places.get(topic)
            policy = from_first() if place is None else from_offset(place.next, place.log_id)
            self._followers[topic] = Follower(
                topic, policy, self._rng, owner=f"{self._begun} {topic}", report=True, max_records=READ_MAX
            )
            yield from self._followers[topic].start()

    def _stand_by(self, mark: str) -> Iterator[Effect]:
        yield note("projection.stood_by", name=self._settings.name)
        self._begin()
        self._is_standby, self._mark, self._places = True, mark, marks.read(mark)
        yield self._look_again()

    def _look_again(self) -> Effect:
        """Once for all who ask meanwhile, or those who ask often would put it off for ever."""
        self._is_awaited = bool(self._queries)
        return After("standby", AWAITED_S if self._is_awaited else STANDBY_S)

    def _rebuild(self, why: str) -> Iterator[Effect]:
        yield note("projection.rebuilt", "warning", name=self._settings.name, why=why)
        mark = self._mark
        self._begin()
        yield from self._ask(RebuildFold() if self._settings.row is not None else ClearFold(mark))

    def _stop(self, problem: str) -> Iterator[Effect]:
        self._problem = problem
        yield note("projection.stopped", "error", name=self._settings.name, problem=problem)

    # The topics.

    def _follow(self, message: Input) -> Iterator[Effect]:
        owner = message.effect.owner if isinstance(message, Done | Failed) else ""
        for topic, follower in self._followers.items():
            if isinstance(message, Done | Failed) and owner != f"{self._begun} {topic}":  # of one before it
                continue
            news, effects = follower.handle(message)
            match news:
                case Delivered(next=following, records=records):
                    batch = Batch(self._settings, topic, records, following)
                    self._waiting.append(Waiting(batch, effects, self._since_s(topic, records)))
                    continue
                case Replaced(log_id=was):
                    yield from self._rebuild(f"{topic} of {was} was replaced")
                    return
                case OutOfRange(expected=expected, bounds=bounds) if bounds.first <= expected:
                    yield from self._rebuild(f"{topic} is shorter than before")
                    return
                case OutOfRange(bounds=bounds) | Positioned(bounds=bounds) if self._is_gap(topic, bounds.first):
                    yield from self._stop(f"the first records of {topic} were removed, up to {bounds.first - 1}")
                    return
                case OutOfRange():
                    effects = follower.start()
            yield from effects

    def _since_s(self, topic: str, records: tuple[Record, ...]) -> float:
        """Since when these records are on the log at most: since the read before was begun, if that had all."""
        since_s = self._read_s.get(topic, -inf)
        has_all = len(records) < READ_MAX // 2 and sum(len(each.payload) for each in records) < READ_BYTES
        self._read_s[topic] = self._begun_s.get(topic, -inf) if has_all else -inf
        return since_s

    def _is_gap(self, topic: str, first: int) -> bool:
        """Whether records are missing. A topic of the service's own may be read from what is left of it."""
        place = self._places.get(topic)
        if place is None:
            return first > ORIGIN and dict(self._settings.topics)[topic] is not None
        return first > place.next

    # A batch: its rows are loaded, it is folded, its commands are sent, and it is saved.

    def _work(self) -> Iterator[Effect]:
        if self._request is not None or self._problem or self._folded is not None or self._is_standby:
            return
        if self._waiting:
            batch = self._waiting[0].batch
            keys = {
                table: [key for key in wanted if key not in self._cache.get(table, {})]
                for table, wanted in batch.keys().items()
            }
            if any(keys.values()):
                yield from self._ask(LoadFold({table: wanted for table, wanted in keys.items() if wanted}))
            else:
                yield from self._fold({}, Loaded(self._mark, {}))
        elif not self._is_live and self._followers and self._settings.row is not None and self._has_all():
            yield from self._ask(PublishFold())

    def _has_all(self) -> bool:
        return all(each.caught_up for each in self._followers.values())

    def _fold(self, keys: Mapping[str, Iterable[str]], loaded: Loaded) -> Iterator[Effect]:
        if loaded.mark != self._mark:
            yield from self._stand_by(loaded.mark)
            return
        for table, wanted in keys.items():
            found, cache = loaded.rows.get(table, {}), self._cache.setdefault(table, {})
            for key in wanted:
                cache[key] = found.get(key, ())
        its, since_s = self._waiting[0].batch.fold(self._cache), self._waiting[0].since_s
        self._folded = its
        for recorded, ask in its.asks:
            unique = command_id(self._settings.name, its.topic, recorded, ask)
            command = EntityCommand(
                key=ask.key, command_id=unique, command=sealed(ask.command), is_final=True, searched=0
            )
            self._asks[unique] = AskEntity(ask.entity, command, since_s)
        yield from self._send()

    def _send(self) -> Iterator[Effect]:
        """Send the next commands, or save what they were part of."""
        for unique, effect in self._asks.items():
            if len(self._asking) >= ASKING_MAX:
                break
            if unique not in self._asking and unique not in self._later:
                self._asking.add(unique)
                yield effect
        its = self._folded
        if not self._asks and its is not None and self._request is None:
            follower = self._followers[its.topic]
            places = {**self._places, its.topic: Place(follower.log_id, its.following)}
            if its.following == self._places.get(its.topic, Place("", -1)).next:
                yield from self._saved(self._mark)  # nothing was read
            else:
                yield from self._ask(SaveFold(self._mark, marks.written(places), its.rows))

    def _heard(self, message: Input) -> Iterator[Effect]:
        match message:
            case Done(AskEntity(command=command), EntityOutcome() as outcome) if command.command_id in self._asking:
                self._asking.discard(command.command_id)
                if outcome.problem and not outcome.refused:
                    yield from self._ask_later(command, outcome.problem)
                    return
                if outcome.refused:
                    self._refused += 1
                    yield note("reaction.refused", name=self._settings.name, key=command.key, why=outcome.problem)
                del self._asks[command.command_id]
                yield from self._send()
            case Failed(AskEntity(command=command), error) if command.command_id in self._asking:
                self._asking.discard(command.command_id)
                yield from self._ask_later(command, str(error))
            case Tick("asks"):
                self._later.clear()
                yield from self._send()

    def _ask_later(self, command: EntityCommand, problem: str) -> Iterator[Effect]:
        self._later.append(command.command_id)
        self._attempt += 1
        level = "warning" if self._attempt == 1 else "debug"
        yield note("reaction.delayed", level, name=self._settings.name, key=command.key, problem=problem)
        yield After("asks", AGAIN.delay_s(self._attempt, self._rng))

    def _saved(self, mark: str) -> Iterator[Effect]:
        its, waiting = self._folded, self._waiting.popleft()
        assert its is not None
        self._mark, self._places, self._folded, self._attempt = mark, marks.read(mark), None, 0
        its.remember(self._cache)
        if its.problem:
            yield from self._stop(its.problem)
        else:
            yield from waiting.effects

    # Questions.

    def _tell(self) -> Iterator[Effect]:
        waiting, self._queries = self._queries, []
        for origin, query in waiting:
            following = self._places.get(query.topic, Place("", ORIGIN)).next
            if query.topic and not self._problem and (following <= query.after or self._is_new):
                self._queries.append((origin, query))
            else:
                yield Reply(origin, self._state())

    @property
    def _is_new(self) -> bool:
        """Whether others do not see these rows yet."""
        return self._settings.row is not None and not self._is_live and not self._is_standby

    @property
    def _word(self) -> str:
        if self._problem or self._is_standby:
            return "stopped" if self._problem else "standby"
        return "building" if self._is_new else "live" if self._followers and self._has_all() else "reading"

    def _state(self) -> FoldState:
        read = ((topic, self._places.get(topic, Place("", 0))) for topic, _ in self._settings.topics)
        places = tuple(FoldPlace(topic=topic, log_id=at.log_id, next=at.next) for topic, at in read)
        delayed = [f"{self._asks[each].command.key}: not answered" for each in self._later if each in self._asks]
        return FoldState(
            places=places, problem=self._problem, standby=self._is_standby, is_live=not self._is_new,
            active=len(self._asks), refused=self._refused, troubles=tuple(delayed[:20]),
        )  # fmt: skip


def command_id(name: str, topic: str, recorded: Recorded, ask: Ask) -> str:
    """The id of the command that an event leads to: the same whenever it is sent."""
    where = f"{name}\0{topic}\0{recorded.offset}\0{recorded.place}\0{ask.name}"
    return sha256(where.encode()).hexdigest()[:40]
