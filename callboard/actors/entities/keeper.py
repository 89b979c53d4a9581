"""Keeps the entities of one class: folds their topic, carries out commands, and appends what these commit."""

from collections import deque
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
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
from callboard.actors.core.effects import Append, EnsureTopic
from callboard.actors.core.follower import Delivered, Follower, OutOfRange, Positioned, Replaced, from_first
from callboard.actors.core.lease import ORIGIN
from callboard.actors.entities.deciding import Decided, Trial, unencodable
from callboard.actors.entities.entity_table import EntityTable
from callboard.actors.entities.held import Made
from callboard.actors.entities.settings import EntitySettings
from callboard.errors import CallboardError, RecordTooLarge
from callboard.messages.entities.entity_mail import (
    EntityCommand,
    EntityCommands,
    EntityOutcome,
    EntityOutcomes,
    EntityQuery,
    EntityState,
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
    """A question with commands, and the outcomes that are known."""

    origin: Origin
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


class Keeper:
    """Keeps the entities of one class in memory. What commands commit is appended together, and is in force once it is
    read back and counts. If others committed to the entity first, the command is decided again.

    Receives: EntityCommands, answered when all have an outcome; EntityQuery, answered when it has read as far.
    Sends: EntityOutcomes and EntityState, to the service.
    Stores: nothing but the commits; creates the topic.
    Timers: "ensure" and "append", after these failed; the follower's.
    Gives up: when a record is too new, or the beginning of the topic was removed, with the problem in each answer.
    """

    def __init__(self, settings: EntitySettings, rng: Random) -> None:
        self._settings, self._rng = settings, rng
        self._attempt = 0
        self._open: deque[Open] = deque()
        self._queries: list[tuple[Origin, EntityQuery]] = []
        self._begin()

    def _begin(self) -> None:
        self._follower = Follower(self._settings.topic, from_first(), self._rng, report=True)
        self._table = EntityTable(self._settings.entity())
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
                yield from self._follower.start()
            case EntityCommands(commands=commands):
                asked = Asked(origin, commands)
                self._open += [Open(asked, place) for place in range(len(commands))]
                yield from self._answered(asked)
            case EntityQuery():
                self._queries.append((origin, message))
            case Done(Append(records=records), offsets) if records is self._records:
                self._attempt, self._landed = 0, max(offsets)
            case Failed(Append() | EnsureTopic() as effect, error):
                yield from self._failed(effect, error)
            case Tick("append") if self._records:
                yield Append(self._settings.topic, self._records)
            case Stopping():
                yield Stopped()
                return
            case _:
                yield from self._follow(message)
        yield from self._work(now)

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

    # The topic.

    def _follow(self, message: Input) -> Iterator[Effect]:
        news, effects = self._follower.handle(message)
        match news:
            case Delivered(records=records, next=following):
                for record in records:
                    self._see(record)
                self._next = following
            case Replaced(log_id=was):
                self._open.extendleft(reversed(self._appending))
                self._begin()
                yield note("entities.replaced", "warning", topic=self._settings.topic, was=was)
                effects = self._follower.start()
            case Positioned(bounds=bounds) | OutOfRange(bounds=bounds) if bounds.first > ORIGIN:
                self._stop(f"the first records of {self._settings.topic} were removed, up to {bounds.first - 1}", "gap")
            case OutOfRange():
                self._begin()
                effects = self._follower.start()
        if not self._problem:
            yield from effects

    def _see(self, record: Record) -> None:
        if self._problem:
            return
        commit = read(record, (EntityCommitMessage,), _accept)
        if isinstance(commit, Unread):
            if commit.problem is Problem.TOO_NEW:
                self._stop(commit.detail, "schema_too_new")
            return
        self._table.apply(commit, record.offset)

    def _stop(self, problem: str, code: str) -> None:
        self._problem, self._code = problem, code

    # Commands.

    def _work(self, now: Moment) -> Iterator[Effect]:
        if self._problem:
            yield from self._refuse()
        if self._problem or not self._follower.caught_up:
            return
        if 0 <= self._landed < self._next:
            yield from self._judge()
        if not self._records and self._open:
            yield from self._decide(now)
        yield from self._tell()

    def _refuse(self) -> Iterator[Effect]:
        """Answer everything with the problem."""
        for its in (*self._appending, *self._open):
            yield from self._answer(its, EntityOutcome(problem=self._problem, code=self._code))
        for origin, _ in self._queries:
            yield Reply(origin, EntityState(problem=self._problem, code=self._code))
        self._open.clear()
        self._queries.clear()
        self._clear()

    def _clear(self) -> None:
        self._appending, self._records, self._landed = [], (), -1

    def _decide(self, now: Moment) -> Iterator[Effect]:
        """Decide the next commands, and append what they commit. What was found on a state that is only tried waits."""
        trial = Trial(self._table.find, self._next, lambda: self._rng.getrandbits(62) + 1)
        while self._open and len(self._appending) < TOGETHER_MAX and trial.nbytes < APPEND_BYTES_MAX:
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
                    outcome = EntityOutcome(repeated=True)
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
        yield from self._answered(its.asked)

    def _answered(self, asked: Asked) -> Iterator[Effect]:
        if len(asked.outcomes) == len(asked.commands):
            outcomes = tuple(asked.outcomes[place] for place in range(len(asked.commands)))
            yield Reply(asked.origin, EntityOutcomes(outcomes=outcomes))

    # Queries.

    def _tell(self) -> Iterator[Effect]:
        waiting, self._queries = self._queries, []
        for origin, query in waiting:
            if query.after >= self._next:
                self._queries.append((origin, query))
                continue
            held = self._table.find(query.key)
            state, problem, code = None, held.problem, held.code
            if held.exists and not problem and (problem := unencodable(held.state)):  # of code before this one
                code = "state_unknown"
            elif held.exists and not problem:
                state = sealed(held.state)
            yield Reply(origin, EntityState(
                state=state, version=held.version, offset=self._next - 1, problem=problem, code=code
            ))  # fmt: skip


def _counts(commit: EntityCommitMessage, made: Mapping[str, Made]) -> bool:
    return commit.command_id in made and made[commit.command_id].commit_id == commit.commit_id


def _accept(_: EntityCommitMessage) -> None:
    """Every commit that can be decoded is one; whether it counts is up to the entity."""
