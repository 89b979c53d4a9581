"""The commands that have no outcome yet, and what is appended for them."""

from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from random import Random

from callboard.actors.core.decision import Effect, Moment, Origin, Reply, note
from callboard.actors.core.effects import Append
from callboard.actors.entities.deciding import OVERTAKEN, Decided, Trial, repeated
from callboard.actors.entities.entity_table import EntityTable
from callboard.actors.entities.held import Made
from callboard.actors.entities.settings import EntitySettings
from callboard.actors.entities.shelf import Shelf
from callboard.messages.entities.entity_mail import EntityCommand, EntityOutcome, EntityOutcomes
from callboard.messages.entities.entity_messages import EntityCommitMessage
from callboard.messages.event import replaced
from callboard.messages.headers import new_record
from callboard.messages.record import NewRecord

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
    decided_s: float = 0.0

    @property
    def command(self) -> EntityCommand:
        """The command."""
        return self.asked.commands[self.place]

    @property
    def commit(self) -> EntityCommitMessage:
        """What was decided, if there is a commit."""
        assert self.decided is not None
        assert self.decided.commit is not None
        return self.decided.commit


Told = Callable[[EntityCommand, EntityOutcome], Iterator[Effect]]
"""Is told what became of the command of a task."""


class CommandQueue:
    """Decides commands in their order, has what they commit appended together, and answers them once that was read
    back: see ``Keeper``, which owns it.
    """

    def __init__(self, settings: EntitySettings, rng: Random, told: Told) -> None:
        self._settings, self._rng, self._told = settings, rng, told
        self._open = deque[Open]()
        self._clear()

    def _clear(self) -> None:
        self._appending: list[Open] = []
        self.records: tuple[NewRecord, ...] = ()
        """What is being appended."""
        self.own: dict[bytes, Open] = {}
        """The commands of these records, by their bytes."""
        self.landed = -1
        """The last offset of them, once they are appended."""

    @property
    def is_due(self) -> bool:
        """Whether the next commands can be decided: nothing is being appended."""
        return bool(self._open) and not self.records

    def keys(self) -> set[str]:
        """The keys of their entities."""
        return {its.command.key for its in (*self._appending, *self._open)}

    def add(self, commands: tuple[EntityCommand, ...], origin: Origin) -> Iterator[Effect]:
        """Have the commands of a question carried out."""
        asked = Asked(origin, commands)
        self._open += [Open(asked, place) for place in range(len(commands))]
        yield from self._answered(asked)

    def order(self, commands: Iterable[EntityCommand]) -> None:
        """Have commands of tasks carried out."""
        for each in commands:
            self._open.append(Open(Asked(None, (each,)), 0))

    def begin_again(self) -> None:
        """Forget what is being appended, and decide all again."""
        self._open.extendleft(reversed(self._appending))
        self._clear()

    def refuse(self, problem: str, code: str) -> Iterator[Effect]:
        """Answer everything with the problem."""
        for its in (*self._appending, *self._open):
            yield from self._answer(its, EntityOutcome(problem=problem, code=code))
        self._open.clear()
        self._clear()

    def refuse_appended(self, problem: str, code: str) -> Iterator[Effect]:
        """Answer what is being appended with the problem."""
        for its in self._appending:
            yield from self._answer(its, EntityOutcome(problem=problem, code=code))
        self._clear()

    def decide(self, shelf: Shelf, following: int, now: Moment) -> Iterator[Effect]:
        """Decide the next commands, on everything before the offset ``following``, and append what they commit. What
        was found on a state that is only tried waits.
        """
        wanted = (self._open[place].command.key for place in range(min(len(self._open), TOGETHER_MAX)))
        if missing := shelf.missing(wanted):
            yield from shelf.fetch(missing)
            return
        trial = Trial(shelf.table.find, following, lambda: self._rng.getrandbits(62) + 1)
        many = min(len(self._open), TOGETHER_MAX)
        while many and trial.nbytes < APPEND_BYTES_MAX:
            many -= 1
            its = self._open.popleft()
            its.decided, its.decided_s = trial.decide(its.command, now.wall_ns), now.mono_s
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
            self.records = tuple(self._record(its, now) for its in commits)
            self.own = {record.payload: its for record, its in zip(self.records, commits, strict=True)}
            yield Append(self._settings.topic, self.records)

    def _record(self, its: Open, now: Moment) -> NewRecord:
        unique = f"{self._settings.instance}/{self._rng.getrandbits(64):016x}"
        by, command = self._settings.instance, its.command
        # Without a key: if it is appended twice, it still counts once.
        return new_record(
            its.commit, record_id=unique, time_ns=now.wall_ns, producer=by, cause=command.command_id,
            traceparent=command.traceparent,
        )  # fmt: skip

    def judge(self, table: EntityTable) -> Iterator[Effect]:
        """What was appended has been read back: answer what counts, decide the others again."""
        again = list[Open]()
        for its in self._appending:
            assert its.decided is not None
            made, outcome = table.find(its.command.key).made, its.decided.outcome
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
                yield from self._answer(its, EntityOutcome(problem=problem, code=OVERTAKEN))
        self._open.extendleft(reversed(again))
        self._clear()

    def _answer(self, its: Open, outcome: EntityOutcome) -> Iterator[Effect]:
        its.asked.outcomes[its.place] = outcome
        if its.asked.origin is None:
            yield from self._told(its.command, outcome)
        yield from self._answered(its.asked)

    def _answered(self, asked: Asked) -> Iterator[Effect]:
        if asked.origin is not None and len(asked.outcomes) == len(asked.commands):
            outcomes = tuple(asked.outcomes[place] for place in range(len(asked.commands)))
            yield Reply(asked.origin, EntityOutcomes(outcomes=outcomes))


def _counts(commit: EntityCommitMessage, made: Mapping[str, Made]) -> bool:
    return commit.command_id in made and made[commit.command_id].commit_id == commit.commit_id
