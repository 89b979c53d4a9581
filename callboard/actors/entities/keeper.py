"""Keeps the entities of one class: folds their topic, carries out commands, and appends what these commit."""

from collections.abc import Iterable, Iterator
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
from callboard.actors.entities.announcer import Announced, FoldAnnouncer
from callboard.actors.entities.command_queue import CommandQueue
from callboard.actors.entities.entity_fold import EntityFold
from callboard.actors.entities.settings import EntitySettings
from callboard.errors import CallboardError, RecordTooLarge
from callboard.messages.entities.entity_mail import (
    EntityCommand,
    EntityCommands,
    EntityOutcome,
    EntityQuery,
    EntityState,
    FoldQuery,
)


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
        self._queries: list[tuple[Origin, EntityQuery]] = []
        self._questions: list[tuple[Origin, FoldQuery]] = []
        self._is_stopping = False
        self._announcer = FoldAnnouncer(Announced(settings.announce, *settings.names), rng)
        self._commands = CommandQueue(settings, rng, self._task_ended)
        self._fold = EntityFold(settings, rng, self._commands)

    def receive(self, message: Input, origin: Origin, now: Moment) -> Iterable[Effect]:
        """Handle one input."""
        match message:
            case Started() | Tick("ensure"):
                yield EnsureTopic(self._settings.topic)
            case Done(EnsureTopic()):
                self._attempt = 0
                yield from self._fold.start()
            case EntityCommands(commands=commands):
                yield from self._commands.add(commands, origin)
            case EntityQuery():
                self._queries.append((origin, message))
            case FoldQuery(after=-1):
                yield Reply(origin, self._fold.state())
            case FoldQuery():
                self._questions.append((origin, message))
            case Done(Append(records=records), offsets) if records is self._commands.records:
                self._attempt, self._commands.landed = 0, max(offsets)
            case Failed(Append() | EnsureTopic() as effect, error):
                yield from self._failed(effect, error)
            case Tick("append") if self._commands.records:
                yield Append(self._settings.topic, self._commands.records)
            case Stopping():
                self._is_stopping = True
            case _:
                yield from self._hear(message, now)
        yield from self._work(now)
        yield from self._announcer.handle(message, self._fold.word, self._fold.state, now)
        if self._announcer.has_left and not self._fold.shelf.is_saving:
            yield Stopped()

    def _failed(self, effect: Append | EnsureTopic, error: CallboardError) -> Iterator[Effect]:
        if isinstance(effect, Append) and effect.records is not self._commands.records:
            return  # of a topic that was replaced
        if isinstance(effect, Append) and isinstance(error, RecordTooLarge):  # the log has a lower limit than others
            yield from self._commands.refuse_appended(str(error), "too_large")
            return
        self._attempt += 1
        key = "append" if isinstance(effect, Append) else "ensure"
        level = "warning" if self._attempt == 1 else "debug"
        yield note("entities.failed", level, what=key, attempt=self._attempt, error=str(error))
        yield After(key, RETRY.delay_s(self._attempt, self._rng))

    def _hear(self, message: Input, now: Moment) -> Iterator[Effect]:
        conductor = self._fold.conductor
        if conductor is not None and isinstance(message, Done | Failed | Tick):
            commands, effects = conductor.handle(message, now)
            yield from effects
            self._commands.order(commands)
        yield from self._fold.handle(message)

    def _task_ended(self, command: EntityCommand, outcome: EntityOutcome) -> Iterator[Effect]:
        if self._fold.conductor is not None:
            yield from self._fold.conductor.told(command, outcome)

    def _work(self, now: Moment) -> Iterator[Effect]:
        fold, commands = self._fold, self._commands
        if not fold.problem:
            yield from fold.absorb(now)
        if fold.problem:
            yield from self._refuse()
        if not fold.is_current:
            return
        if 0 <= commands.landed < fold.next:
            yield from commands.judge(fold.table)
        if fold.conductor is not None and not self._is_stopping:
            yield from fold.look(now)
            for each in list(fold.conductor.work(now)):
                if isinstance(each, EntityCommand):
                    commands.order([each])
                else:
                    yield each
        if commands.is_due:
            yield from commands.decide(fold.shelf, fold.next, now)
        yield from self._tell()
        yield from fold.save(now=self._is_stopping)

    def _refuse(self) -> Iterator[Effect]:
        """Answer everything with the problem."""
        problem, code = self._fold.problem, self._fold.code
        yield from self._commands.refuse(problem, code)
        for origin, _ in self._queries:
            yield Reply(origin, EntityState(problem=problem, code=code))
        for origin, _ in self._questions:
            yield Reply(origin, self._fold.state())
        self._queries.clear()
        self._questions.clear()

    def _tell(self) -> Iterator[Effect]:
        """Answer the questions that are about what was read."""
        fold = self._fold
        ready = [each for each in self._queries if each[1].after < fold.next]
        if missing := fold.shelf.missing(query.key for _, query in ready):
            yield from fold.shelf.fetch(missing)
        for each in ready:
            origin, query = each
            if query.key in missing:
                continue
            self._queries.remove(each)
            yield Reply(origin, fold.told(query.key))
        waiting, self._questions = self._questions, []
        for where, question in waiting:
            if question.after >= fold.next:
                self._questions.append((where, question))
            else:
                yield Reply(where, fold.state())
