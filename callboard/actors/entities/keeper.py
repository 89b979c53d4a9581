"""Keeps the entities of one class: folds their topic, carries out commands, and appends what these commit."""

from collections import deque
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from random import Random
from typing import NamedTuple

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
from callboard.actors.core.effects import Append, EnsureTopic
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
from callboard.actors.entities.deciding import Decided, Trial, repeated, unencodable
from callboard.actors.entities.held import Made
from callboard.actors.entities.mark import Place
from callboard.actors.entities.processes.conductor import TAKEOVER_S, TROUBLES_MAX, Conductor
from callboard.actors.entities.settings import EntitySettings
from callboard.actors.entities.shelf import SCAN_MANY, Active, Lost, Opened, Refused, Shelf
from callboard.errors import CallboardError, RecordTooLarge
from callboard.messages.entities.entity_mail import (
    EntityCommand,
    EntityCommands,
    EntityOutcome,
    EntityOutcomes,
    EntityQuery,
    EntityState,
    FoldPlace,
    FoldQuery,
    FoldState,
)
from callboard.messages.entities.entity_messages import EntityCommitMessage
from callboard.messages.entities.sealing import sealed
from callboard.messages.event import replaced
from callboard.messages.headers import new_record
from callboard.messages.reading import Problem, Unread, read
from callboard.messages.record import NewRecord, Record

TOGETHER_MAX = 500
"""Commits in one append."""

APPEND_BYTES_MAX = 1 << 20
"""Bytes in one append, but for its last commit."""

DECISIONS_MAX = 20
"""Times that a command is decided again, because others committed to its entity first."""


@dataclass(slots=True)
class Asked:
    """A question with commands, and the outcomes that are known. Commands of tasks have no ``origin``."""

    origin: Origin | None
    commands: tuple[EntityCommand, ...]
    outcomes: dict[int, EntityOutcome] = field(default_factory=dict)


@dataclass(slots=True)
class Open:
    """A command without an outcome: the place in its question, how often it was decided, and what was decided."""

    asked: Asked
    place: int
    decisions: int = 0
    decided: Decided | None = None

    @property
    def command(self) -> EntityCommand:
        """The command."""
        return self.asked.commands[self.place]


class Batch(NamedTuple):
    """Commits that were read but not applied, the next offset, and the effects that go on reading."""

    commits: tuple[tuple[int, EntityCommitMessage], ...]
    following: int
    effects: tuple[Effect, ...]


class Keeper:
    """Keeps the entities of one class in memory, and in a store if there is one. What commands commit is appended
    together, and is in force once it is read back and counts. If others committed to the entity first, the command is
    decided again. Runs the tasks of processes.

    Receives: EntityCommands, answered when all have an outcome; EntityQuery, answered when it has read as far;
        FoldQuery, likewise.
    Sends: EntityOutcomes, EntityState and FoldState, to the service.
    Stores: nothing but the commits; creates the topic. Snapshots, which can be lost.
    Timers: "ensure" and "append", after these failed; those of the follower, the shelf and the conductor.
    Gives up: when a record is too new, the beginning of the topic was removed, or the store cannot be used, with the
        problem in each answer.
    """

    def __init__(self, settings: EntitySettings, rng: Random) -> None:
        self._settings, self._rng = settings, rng
        self._attempt = 0
        self._open: deque[Open] = deque()
        self._queries: list[tuple[Origin, EntityQuery]] = []
        self._questions: list[tuple[Origin, FoldQuery]] = []
        self._is_stopping = False
        self._begin()

    def _begin(self, mark: str = "") -> None:
        self._follower = Follower(self._settings.topic, from_first(), self._rng, report=True)
        self._shelf = Shelf(self._settings, self._rng, mark)
        self._table = self._shelf.table
        self._conductor = Conductor(self._settings.topic, self._rng) if self._settings.runs else None
        self._has_snapshot = False
        self._batch: Batch | None = None
        self._found = deque[str]()  # active processes that were not looked at yet
        self._next = 0
        self._problem, self._code = "", ""
        self._appending: list[Open] = []
        self._records: tuple[NewRecord, ...] = ()
        self._landed = -1  # the last offset of what was appended

    def receive(self, message: Input, origin: Origin, now: Moment) -> Iterable[Effect]:
        """Handle one input."""
        match message:
            case Started() | Tick("ensure"):
                yield EnsureTopic(self._settings.topic)
            case Done(EnsureTopic()):
                self._attempt = 0
                yield from self._start()
            case EntityCommands(commands=commands):
                asked = Asked(origin, commands)
                self._open += [Open(asked, place) for place in range(len(commands))]
                yield from self._answered(asked)
            case EntityQuery():
                self._queries.append((origin, message))
            case FoldQuery():
                self._questions.append((origin, message))
            case Done(Append(records=records), offsets) if records is self._records:
                self._attempt, self._landed = 0, max(offsets)
            case Failed(Append() | EnsureTopic() as effect, error):
                yield from self._failed(effect, error)
            case Tick("append") if self._records:
                yield Append(self._settings.topic, self._records)
            case Stopping():
                self._is_stopping = True
            case _:
                yield from self._hear(message, now)
        yield from self._work(now)
        if self._is_stopping and not self._shelf.is_saving:
            yield Stopped()

    def _failed(self, effect: Append | EnsureTopic, error: CallboardError) -> Iterator[Effect]:
        if isinstance(effect, Append) and effect.records is not self._records:
            return  # of a topic that was replaced
        if isinstance(effect, Append) and isinstance(error, RecordTooLarge):  # the log has a lower limit than others
            for its in self._appending:
                yield from self._answer(its, EntityOutcome(problem=str(error), code="too_large"))
            self._clear()
            return
        self._attempt += 1
        key = "append" if isinstance(effect, Append) else "ensure"
        level = "warning" if self._attempt == 1 else "debug"
        yield note("entities.failed", level, what=key, attempt=self._attempt, error=str(error))
        yield After(key, RETRY.delay_s(self._attempt, self._rng))

    def _hear(self, message: Input, now: Moment) -> Iterator[Effect]:
        if self._conductor is not None and isinstance(message, Done | Failed | Tick):
            commands, effects = self._conductor.handle(message, now)
            yield from effects
            self._order(commands)
        yield from self._stored(message)
        yield from self._follow(message)

    # The topic, and the store.

    def _start(self) -> Iterator[Effect]:
        if self._settings.is_stored:
            yield from self._shelf.open()
        else:
            yield from self._follower.start()

    def _again(self, *, clear: bool = False) -> Iterator[Effect]:
        """Begin again; with ``clear``, without what the store has."""
        self._open.extendleft(reversed(self._appending))
        self._begin(self._shelf.mark)
        yield from self._shelf.clear() if clear and self._settings.is_stored else self._start()

    def _stored(self, message: Input) -> Iterator[Effect]:
        news, effects = self._shelf.handle(message)
        yield from effects
        match news:
            case Opened(place=place):
                self._has_snapshot = place is not None
                policy = from_first() if place is None else from_offset(place.next, place.log_id)
                self._follower = Follower(self._settings.topic, policy, self._rng, report=True)
                yield from self._follower.start()
                if place is not None and self._conductor is not None:
                    yield from self._shelf.find_active()
            case Active(keys=keys):
                self._found += keys
                if len(keys) == SCAN_MANY:
                    yield from self._shelf.find_active(keys[-1])
            case Lost(is_damaged=is_damaged):
                what = "is damaged" if is_damaged else "went back"
                yield note("snapshots.lost", "warning", topic=self._settings.topic, what=what)
                yield from self._again(clear=is_damaged)
            case Refused(problem=problem):
                self._stop(problem, "snapshots")

    def _follow(self, message: Input) -> Iterator[Effect]:
        news, effects = self._follower.handle(message)
        match news:
            case Delivered(records=records, next=following):
                commits = tuple((record.offset, each) for record in records if (each := self._read(record)))
                self._batch, effects = Batch(commits, following, effects), ()
            case Replaced(log_id=was):
                yield note("entities.replaced", "warning", topic=self._settings.topic, was=was)
                yield from self._again(clear=True)
                return
            case Positioned(bounds=bounds) if bounds.first > ORIGIN and not self._has_snapshot:
                self._stop_at(bounds.first)
            case OutOfRange(expected=expected, bounds=bounds) if bounds.first > max(ORIGIN, expected):
                self._stop_at(bounds.first)
            case OutOfRange():  # the topic is shorter than before
                yield from self._again(clear=True)
                return
        if not self._problem:
            yield from effects

    def _stop_at(self, first: int) -> None:
        self._stop(f"the first records of {self._settings.topic} were removed, up to {first - 1}", "gap")

    def _read(self, record: Record) -> EntityCommitMessage | None:
        commit = read(record, (EntityCommitMessage,), _accept)
        if isinstance(commit, Unread):
            if commit.problem is Problem.TOO_NEW:
                self._stop(commit.detail, "schema_too_new")
            return None
        return commit

    def _stop(self, problem: str, code: str) -> None:
        if not self._problem:
            self._problem, self._code = problem, code

    def _absorb(self, now: Moment) -> Iterator[Effect]:
        """Apply what was read, once its entities are in memory."""
        if self._batch is None:
            return
        commits, following, effects = self._batch
        if missing := self._shelf.missing(commit.key for _, commit in commits):
            yield from self._shelf.fetch(missing)
            return
        own = {its.decided.commit.commit_id for its in self._appending if its.decided and its.decided.commit}
        wait_s = TAKEOVER_S if self._follower.caught_up else 0.0
        for offset, commit in commits:
            held = self._shelf.apply(commit, offset)
            if held is not None and self._conductor is not None:
                yield from self._conductor.see(commit.key, held, None if commit.commit_id in own else wait_s, now)
        self._next, self._batch = following, None
        yield from effects
        yield from self._shelf.save(Place(self._follower.log_id, self._next))
        self._shelf.evict(self._used)

    def _used(self) -> set[str]:
        return {its.command.key for its in (*self._appending, *self._open)}

    def _look(self, now: Moment) -> Iterator[Effect]:
        """Tell the conductor of the active processes that the store has."""
        while self._found and self._conductor is not None:
            some = [self._found[place] for place in range(min(len(self._found), TOGETHER_MAX))]
            if missing := self._shelf.missing(some):
                yield from self._shelf.fetch(missing)
                return
            for key in some:
                yield from self._conductor.see(key, self._table.find(key), 0.0, now)
                self._found.popleft()
            self._shelf.evict(self._used)

    # Commands.

    def _work(self, now: Moment) -> Iterator[Effect]:
        if not self._problem:
            yield from self._absorb(now)
        if self._problem:
            yield from self._refuse()
        if self._problem or self._batch is not None or not self._follower.caught_up:
            return
        if 0 <= self._landed < self._next:
            yield from self._judge()
        if self._conductor is not None and not self._is_stopping:
            yield from self._look(now)
            for each in list(self._conductor.work(now)):
                if isinstance(each, EntityCommand):
                    self._order([each])
                else:
                    yield each
        if not self._records and self._open:
            yield from self._decide(now)
        yield from self._tell()
        yield from self._shelf.save(Place(self._follower.log_id, self._next), now=self._is_stopping)

    def _order(self, commands: list[EntityCommand]) -> None:
        """Have commands of tasks carried out."""
        for each in commands:
            self._open.append(Open(Asked(None, (each,)), 0))

    def _refuse(self) -> Iterator[Effect]:
        """Answer everything with the problem."""
        for its in (*self._appending, *self._open):
            yield from self._answer(its, EntityOutcome(problem=self._problem, code=self._code))
        for origin, _ in self._queries:
            yield Reply(origin, EntityState(problem=self._problem, code=self._code))
        for origin, _ in self._questions:
            yield Reply(origin, self._state())
        self._open.clear()
        self._queries.clear()
        self._questions.clear()
        self._clear()

    def _clear(self) -> None:
        self._appending, self._records, self._landed = [], (), -1

    def _decide(self, now: Moment) -> Iterator[Effect]:
        """Decide the next commands, and append what they commit. What was found on a state that is only tried waits."""
        wanted = (self._open[place].command.key for place in range(min(len(self._open), TOGETHER_MAX)))
        if missing := self._shelf.missing(wanted):
            yield from self._shelf.fetch(missing)
            return
        trial = Trial(self._table.find, self._next, lambda: self._rng.getrandbits(62) + 1)
        many = min(len(self._open), TOGETHER_MAX)
        while many and trial.nbytes < APPEND_BYTES_MAX:
            many -= 1
            its = self._open.popleft()
            its.decided = trial.decide(its.command, now.wall_ns)
            its.decisions += 1
            if its.decided.failed:
                name = self._settings.entity.__name__
                yield note("entity.failed", "error", entity=name, problem=its.decided.outcome.problem)
            if its.decided.commit is None and not its.decided.based_on:
                yield from self._answer(its, its.decided.outcome)
            else:
                self._appending.append(its)
        commits = [its for its in self._appending if its.decided and its.decided.commit]
        if commits:
            self._records = tuple(self._record(its, now) for its in commits)
            yield Append(self._settings.topic, self._records)

    def _record(self, its: Open, now: Moment) -> NewRecord:
        assert its.decided is not None
        assert its.decided.commit is not None
        unique = f"{self._settings.instance}/{self._rng.getrandbits(64):016x}"
        by, cause = self._settings.instance, its.command.command_id
        return new_record(
            its.decided.commit, record_id=unique, time_ns=now.wall_ns, producer=by, key=unique, cause=cause
        )

    def _judge(self) -> Iterator[Effect]:
        """What was appended has been read back: answer what counts, decide the others again."""
        again = list[Open]()
        for its in self._appending:
            assert its.decided is not None
            made, outcome = self._table.find(its.command.key).made, its.decided.outcome
            commit, based_on = its.decided.commit, its.decided.based_on
            if (own := made.get(its.command.command_id)) is not None:
                if commit is None or own.commit_id != commit.commit_id:  # another keeper had it, too
                    outcome = repeated(own)
                yield from self._answer(its, replaced(outcome, version=own.version, offset=own.offset))
            elif commit is None and based_on and _counts(based_on, made):
                yield from self._answer(its, outcome)
            elif its.decisions < DECISIONS_MAX:
                again.append(its)
            else:
                problem = f"others committed to {its.command.key!r} first, {its.decisions} times; try again"
                yield from self._answer(its, EntityOutcome(problem=problem, code="overtaken"))
        self._open.extendleft(reversed(again))
        self._clear()

    def _answer(self, its: Open, outcome: EntityOutcome) -> Iterator[Effect]:
        its.asked.outcomes[its.place] = outcome
        if its.asked.origin is None and self._conductor is not None:
            yield from self._conductor.told(its.command, outcome)
        yield from self._answered(its.asked)

    def _answered(self, asked: Asked) -> Iterator[Effect]:
        if asked.origin is not None and len(asked.outcomes) == len(asked.commands):
            outcomes = tuple(asked.outcomes[place] for place in range(len(asked.commands)))
            yield Reply(asked.origin, EntityOutcomes(outcomes=outcomes))

    # Queries.

    def _tell(self) -> Iterator[Effect]:
        ready = [each for each in self._queries if each[1].after < self._next]
        if missing := self._shelf.missing(query.key for _, query in ready):
            yield from self._shelf.fetch(missing)
        for each in ready:
            origin, query = each
            if query.key in missing:
                continue
            self._queries.remove(each)
            yield Reply(origin, self._told(query.key))
        waiting, self._questions = self._questions, []
        for where, question in waiting:
            if question.after >= self._next:
                self._questions.append((where, question))
            else:
                yield Reply(where, self._state())

    def _told(self, key: str) -> EntityState:
        held = self._table.find(key)
        state, problem, code = None, held.problem, held.code
        if held.exists and not problem and (problem := unencodable(held.state)):  # of code before this one
            code = "state_unknown"
        elif held.exists and not problem:
            state = sealed(held.state)
        return EntityState(state=state, version=held.version, offset=self._next - 1, problem=problem, code=code)

    def _state(self) -> FoldState:
        conductor, unreadable = self._conductor, [key for key, held in self._table.held.items() if held.problem]
        place = FoldPlace(topic=self._settings.topic, log_id=self._follower.log_id, next=self._next)
        troubles = [f"{key}: {self._table.held[key].problem}" for key in unreadable[:TROUBLES_MAX]]
        return FoldState(
            places=(place,), problem=self._problem, held=len(self._table.held), unreadable=len(unreadable),
            active=conductor.active if conductor else 0,
            troubles=tuple(troubles + (conductor.troubles if conductor else [])),
        )  # fmt: skip


def _counts(commit: EntityCommitMessage, made: Mapping[str, Made]) -> bool:
    return commit.command_id in made and made[commit.command_id].commit_id == commit.commit_id


def _accept(_: EntityCommitMessage) -> None:
    """Every commit that can be decoded is one; whether it counts is up to the entity."""
