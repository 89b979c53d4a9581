"""Makes the table of a projection, and sends the commands of a reaction."""

from collections.abc import Iterable, Iterator, Mapping
from random import Random

from callboard.actors.core.backoff import RETRY
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
from callboard.actors.core.fold_effects import LASTING, ClearFold, LoadFold, PublishFold, RebuildFold, SaveFold
from callboard.actors.core.lease import ORIGIN
from callboard.actors.entities import mark as marks
from callboard.actors.entities.announcer import Announced, FoldAnnouncer
from callboard.actors.entities.asking import AskEntity
from callboard.actors.entities.mark import Place
from callboard.actors.entities.projections.asks import Asks
from callboard.actors.entities.projections.batch import Cache, Folded
from callboard.actors.entities.projections.settings import ProjectorSettings
from callboard.actors.entities.projections.sources import Gap, Outdated, Sources
from callboard.backends.fold_store import Loaded
from callboard.errors import CallboardError
from callboard.messages.entities.entity_mail import FoldQuery, FoldRebuild, FoldState

STANDBY_S, AWAITED_S = 5.0, 0.2
"""How often a projector on standby looks whether another one goes on; the second while somebody waits for that."""

Request = LoadFold | SaveFold | ClearFold | PublishFold | RebuildFold


class Projector:
    """Folds topics into the rows of a store; the rows and the places on the topics change together. Of several
    projectors on one store one works, and the others are on standby.

    Receives: FoldQuery, answered when it has stored as much; FoldRebuild.
    Sends: FoldState, to the service; commands to entities, if it is a reaction.
    Stores: rows, places, and the last commit of each entity.
    Timers: "store", "standby" and "asks"; the followers'.
    Gives up: at an event that cannot be read or folded, if the beginning of a topic was removed, or if the store cannot
        be used until somebody corrects that, with the problem in its state.
    """

    def __init__(self, settings: ProjectorSettings, rng: Random) -> None:
        self._settings, self._rng = settings, rng
        self._queries: list[tuple[Origin, FoldQuery]] = []
        self._attempt = 0
        self._begun, self._trouble = 0, ""
        self._asks = Asks(settings.name, rng)
        self._missing = {topic for topic, entity in settings.topics if entity is not None}
        kind = "reaction" if settings.row is None else "projection"
        self._announcer = FoldAnnouncer(Announced(settings.announce, kind, settings.name, settings.instance), rng)
        self._begin()

    def _begin(self, mark: str = "") -> None:
        self._begun += 1
        self._mark, self._places = mark, marks.read(mark)
        self._sources = Sources(self._settings, self._rng, self._begun)
        self._request: Request | None = None
        self._folded: Folded | None = None
        self._problem = ""
        self._is_standby = self._is_live = self._is_awaited = False
        self._cache: Cache = {}
        self._asks.clear()

    def receive(self, message: Input, origin: Origin, now: Moment) -> Iterable[Effect]:
        """Handle one input."""
        for effect in self._handle(message, origin, now):
            if isinstance(effect, ReadLog):
                self._sources.read_begins(effect.topic, now)
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
                self._request, self._attempt, self._trouble = None, 0, ""
                yield from self._answered(effect, result)
            case Failed(effect, error) if effect is self._request:
                yield from self._failed(error)
            case Done(AskEntity()) | Failed(AskEntity()) | Tick("asks"):
                yield from self._asks.handle(message)
                yield from self._save()
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
        if isinstance(error, LASTING):
            self._request = None
            yield from self._stop(str(error))
            return
        self._attempt += 1
        self._trouble = str(error)
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
        if self._is_standby and mark != self._mark:
            self._mark, self._places = mark, marks.read(mark)
            yield self._look_again()
            return
        self._begin(mark)
        yield from self._sources.start(self._places)

    def _stand_by(self, mark: str) -> Iterator[Effect]:
        yield note("projection.stood_by", name=self._settings.name)
        self._begin(mark)
        self._is_standby = True
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

    def _follow(self, message: Input) -> Iterator[Effect]:
        news, effects = self._sources.handle(message, self._places)
        match news:
            case Outdated(why=why):
                yield from self._rebuild(why)
            case Gap(problem=problem):
                yield from self._stop(problem)
        yield from effects

    # A batch: its rows are loaded, it is folded, its commands are sent, and it is saved.

    def _work(self) -> Iterator[Effect]:
        if self._request is not None or self._problem or self._folded is not None or self._is_standby:
            return
        if self._sources.waiting:
            batch = self._sources.waiting[0].batch
            keys = {
                table: [key for key in wanted if key not in self._cache.get(table, {})]
                for table, wanted in batch.keys().items()
            }
            if any(keys.values()):
                yield from self._ask(LoadFold({table: wanted for table, wanted in keys.items() if wanted}))
            else:
                yield from self._fold({}, Loaded(self._mark, {}))
        elif not self._is_live and self._settings.row is not None and self._sources.have_all:
            yield from self._ask(PublishFold())

    def _fold(self, keys: Mapping[str, Iterable[str]], loaded: Loaded) -> Iterator[Effect]:
        if loaded.mark != self._mark:
            yield from self._stand_by(loaded.mark)
            return
        for table, wanted in keys.items():
            found, cache = loaded.rows.get(table, {}), self._cache.setdefault(table, {})
            for key in wanted:
                cache[key] = found.get(key, ())
        waiting = self._sources.waiting[0]
        self._folded = waiting.batch.fold(self._cache)
        self._asks.add(self._folded, waiting.since_s)
        yield from self._send()

    def _send(self) -> Iterator[Effect]:
        """Send the first commands of the batch; it is saved at once if there are none."""
        yield from self._asks.send()
        yield from self._save()

    def _save(self) -> Iterator[Effect]:
        """Save the batch, once its commands are answered."""
        its = self._folded
        if self._asks or its is None or self._request is not None:
            return
        places = {**self._places, its.topic: Place(self._sources.log_id(its.topic), its.following)}
        if its.following == self._places.get(its.topic, Place("", -1)).next:
            yield from self._saved(self._mark)  # nothing was read
        else:
            yield from self._ask(SaveFold(self._mark, marks.written(places), its.rows))

    def _saved(self, mark: str) -> Iterator[Effect]:
        its, waiting = self._folded, self._sources.waiting.popleft()
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
        return "building" if self._is_new else "live" if self._sources.have_all else "reading"

    def _state(self) -> FoldState:
        return FoldState(
            places=marks.told(self._settings.topics, self._places), problem=self._problem, standby=self._is_standby,
            is_live=not self._is_new, active=len(self._asks), refused=self._asks.refused,
            troubles=tuple(filter(None, (self._trouble, *self._sources.troubles.values(), *self._asks.troubles))),
        )  # fmt: skip
