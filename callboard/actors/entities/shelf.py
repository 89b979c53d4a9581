"""The entities of a class in memory, with their snapshots in a store, if there is one."""

from collections import deque
from collections.abc import Callable, Collection, Iterable, Iterator
from dataclasses import dataclass
from random import Random

from callboard.actors.core.backoff import RETRY
from callboard.actors.core.decision import After, Done, Effect, Failed, Input, Tick, note
from callboard.actors.core.fold_effects import LASTING, ClearFold, LoadFold, SaveFold, ScanFold
from callboard.actors.entities import mark as marks
from callboard.actors.entities.entity_table import EntityTable
from callboard.actors.entities.held import Held
from callboard.actors.entities.mark import Place
from callboard.actors.entities.processes.tasks import is_active
from callboard.actors.entities.settings import EntitySettings
from callboard.actors.entities.snapshot import ACTIVE, HELD, VERSION, held_in, row_of
from callboard.backends.fold_store import Loaded, Row
from callboard.errors import CallboardError, Undecodable
from callboard.messages.entities.entity_messages import EntityCommitMessage

SAVE_MANY = 2000
"""Changed entities after which snapshots are saved at once, rather than after a time."""

SCAN_MANY = 1000
"""Keys of active processes in one answer."""


@dataclass(frozen=True, slots=True)
class Opened:
    """The store is open. The topic is to be read from ``place``; from its beginning if there is none."""

    place: Place | None


@dataclass(frozen=True, slots=True)
class Fetched:
    """Entities were loaded."""


@dataclass(frozen=True, slots=True)
class Active:
    """Keys of active processes. There may be more behind them if they are ``SCAN_MANY``."""

    keys: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Lost:
    """What is in memory does not go with the store any more: begin again. ``is_damaged``: clear the store before."""

    is_damaged: bool = False


@dataclass(frozen=True, slots=True)
class Refused:
    """The store cannot be used until somebody corrects what is wrong."""

    problem: str


News = Opened | Fetched | Active | Lost | Refused
Request = LoadFold | ScanFold | SaveFold | ClearFold


class Shelf:
    """See the module. The owner passes its inputs to ``handle``.

    Snapshots can be lost at any time, and keepers that use the same store share them: each row has all commits below
    its ``as_of``, and all rows together have those below the mark.
    """

    def __init__(self, settings: EntitySettings, rng: Random, mark: str = "") -> None:
        self.table = EntityTable(settings.entity())
        self._topic, self._is_stored, self._held_max = settings.topic, settings.is_stored, settings.held_max
        self._rng, self._save_s = rng, settings.save_s
        self.mark = mark
        """What the store says."""
        self.trouble = ""
        """Why the store does not answer."""
        self.log_id = ""
        """The incarnation of the topic that is applied, once it is known."""
        self._requests = deque[Request]()  # the first one is under way
        self._attempt = 0
        self._dirty: dict[str, None] = {}
        self._is_timed = self._is_due = False

    def open(self) -> Iterator[Effect]:
        """Find out what the store has; then it is ``Opened``."""
        return self._ask(LoadFold({}))

    def clear(self) -> Iterator[Effect]:
        """Remove what the store has; then it is ``Opened``."""
        return self._ask(ClearFold(self.mark))

    def missing(self, keys: Iterable[str]) -> tuple[str, ...]:
        """Those of the keys whose entities have to be fetched first."""
        return tuple(dict.fromkeys(key for key in keys if key not in self.table.held)) if self._is_stored else ()

    def fetch(self, keys: Collection[str]) -> Iterator[Effect]:
        """Load entities, unless some are on their way: then look again when these are here."""
        if not any(isinstance(each, LoadFold) for each in self._requests):
            yield from self._ask(LoadFold({HELD: keys}))

    def find_active(self, after: str = "") -> Iterator[Effect]:
        """Load keys of active processes, from behind this one on."""
        return self._ask(ScanFold(ACTIVE, after, SCAN_MANY))

    def apply(self, commit: EntityCommitMessage, offset: int, after: Held | None) -> Held | None:
        """Apply the commit at this offset; return its entity if it counts. See ``EntityTable.apply``."""
        held = self.table.apply(commit, offset, after)
        if held is not None and self._is_stored:
            self._dirty[commit.key] = None
        return held

    # Saving.

    def save(self, place: Place, *, now: bool = False) -> Iterator[Effect]:
        """Save what has changed, if it is time. Everything before the place was applied."""
        if not self._dirty or self.is_saving:
            return
        if not (now or self._is_due or len(self._dirty) >= SAVE_MANY):
            if not self._is_timed:
                self._is_timed = True
                yield After("save", self._save_s)
            return
        self._is_due = False
        if (stored := self._place_in(self.mark)) is not None and stored.next >= place.next:
            self._dirty.clear()  # another keeper has saved all of this
            return
        held, unreadable = self.table.held, self.table.unreadable
        rows: dict[str, Row | None] = {key: row_of(held[key], place.next) for key in self._dirty}
        unreadable |= {key: held[key] for key, row in rows.items() if row is None}
        if unreadable:  # the next start may be of code that can read them
            mark, rows = self.mark, {key: row for key, row in rows.items() if row is not None}
        else:
            mark = marks.written({self._topic: place})
        if mark == self.mark and not rows:
            return
        active: dict[str, Row | None] = {key: () if is_active(key, held[key]) else None for key in rows}
        yield from self._ask(SaveFold(self.mark, mark, {HELD: rows, ACTIVE: active}))

    @property
    def is_saving(self) -> bool:
        """Whether a save is under way."""
        return any(isinstance(each, SaveFold) for each in self._requests)

    @property
    def is_dirty(self) -> bool:
        """Whether anything is not saved yet."""
        return bool(self._dirty)

    def evict(self, used: Callable[[], Collection[str]]) -> None:
        """Drop entities that the store has, but for the used ones: first those that changed longest ago."""
        held = self.table.held
        many = len(held) - self._held_max
        if self._is_stored and many > self._held_max // 10:
            kept = used()
            idle = (key for key, its in held.items() if key not in self._dirty and key not in kept and not its.problem)
            for key in [key for key, _ in zip(idle, range(many), strict=False)]:
                del held[key]

    # Answers of the store.

    def handle(self, message: Input) -> tuple[News | None, tuple[Effect, ...]]:
        """Handle an answer of the store; for any other input return ``(None, ())``."""
        match message:
            case Done(effect, result) if self._requests and effect is self._requests[0]:
                self._requests.popleft()
                self._attempt, self.trouble = 0, ""
                return self._take(effect, result), tuple(self._requests)[:1]
            case Failed(effect, error) if self._requests and effect is self._requests[0]:
                if isinstance(error, LASTING):
                    self._requests.clear()
                    return Refused(str(error)), ()
                return None, self._fail(error)
            case Tick("store") if self._requests:
                return None, (self._requests[0],)
            case Tick("save"):
                self._is_timed, self._is_due = False, True
        return None, ()

    def _ask(self, request: Request) -> Iterator[Effect]:
        if not self._is_stored:
            return
        self._requests.append(request)
        if len(self._requests) == 1:
            yield request

    def _fail(self, error: CallboardError) -> tuple[Effect, ...]:
        self._attempt += 1
        self.trouble = f"its snapshots: {error}"
        line = note("snapshots.failed", "warning" if self._attempt == 1 else "debug", topic=self._topic,
                    attempt=self._attempt, error=str(error))  # fmt: skip
        return line, After("store", RETRY.delay_s(self._attempt, self._rng))

    def _take(self, effect: object, result: Loaded | str) -> News | None:
        mark = result if isinstance(result, str) else result.mark
        before, present = self._place_in(self.mark), self._place_in(mark)
        if isinstance(effect, ClearFold) or (isinstance(effect, LoadFold) and not effect.keys):
            self.mark = mark
            return Opened(present)
        if before and (present is None or present.log_id != before.log_id or present.next < before.next):
            return Lost()
        if present and self.log_id not in {"", present.log_id}:
            return Lost()
        self.mark = mark
        if isinstance(effect, SaveFold):
            if mark == effect.mark:
                self._clean(effect)
            return None
        assert isinstance(result, Loaded)
        if isinstance(effect, ScanFold):
            return Active(tuple(result.rows[ACTIVE]))
        assert isinstance(effect, LoadFold)
        return self._keep(effect.keys[HELD], result.rows.get(HELD, {}))

    def _clean(self, effect: SaveFold) -> None:
        """Forget what was saved, but for what has changed since."""
        for key in effect.rows[HELD]:
            held, row = self.table.held.get(key), effect.rows[HELD][key]
            if held is None or (row is not None and row[VERSION] == held.version):
                self._dirty.pop(key, None)

    def _keep(self, keys: Iterable[str], rows: dict[str, Row]) -> News:
        for key in keys:
            if key in self.table.held:
                continue
            held = self.table.find(key)
            if (row := rows.get(key)) is not None:
                try:
                    held = held_in(row, held.state)
                except Undecodable:
                    return Lost(is_damaged=True)
            self.table.held[key] = held
        return Fetched()

    def _place_in(self, mark: str) -> Place | None:
        return marks.read(mark).get(self._topic)
