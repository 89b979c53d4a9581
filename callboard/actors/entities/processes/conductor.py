"""Carries out the tasks of processes: sends their commands, and tells the processes the answers."""

from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass, field
from heapq import heappop, heappush
from math import inf
from random import Random

from callboard.actors.core.backoff import Backoff
from callboard.actors.core.decision import After, Done, Effect, Failed, Input, Moment, Tick, note
from callboard.actors.entities.asking import AskEntity
from callboard.actors.entities.deciding import OVERTAKEN
from callboard.actors.entities.held import Held
from callboard.actors.entities.processes.process import Answered, Ask, At, Task
from callboard.actors.entities.processes.tasks import command_id, todo
from callboard.messages.entities.entity_mail import EntityCommand, EntityOutcome
from callboard.messages.entities.sealing import sealed
from callboard.messages.event import Event

TAKEOVER_S = 5.0
"""Who committed what led to a task carries it out at once; all others after this time, if it is still to be done."""

ASKING_MAX = 200
"""Commands on their way at once."""

LOOK_S = 60.0
"""The longest wait for a time, so that a clock that is set is noticed."""

AGAIN = Backoff(first_s=0.5, max_s=60.0)
"""Between attempts to send a command."""

TROUBLES_MAX = 20
"""Troubles that are told."""


@dataclass(slots=True)
class Running:
    """A task: since when it is there, if that is known; whether its command is on its way, or has an answer that the
    process does not have yet; and how often it failed.
    """

    task: Task
    since_s: float
    is_asked: bool = False
    is_over: bool = False
    failures: int = 0


@dataclass(slots=True)
class Plan:
    """The tasks of a process, and what is wrong with it."""

    tasks: dict[str, Running] = field(default_factory=dict)
    trouble: str = ""


class Conductor:
    """See the module. Processes are known by ``see``; the owner passes its inputs to ``handle``."""

    def __init__(self, topic: str, rng: Random) -> None:
        self._topic, self._rng = topic, rng
        self._plans: dict[str, Plan] = {}
        self._ready = deque[tuple[str, str]]()
        self._later: list[tuple[float, str, str]] = []  # by monotonic seconds
        self._timed: list[tuple[int, str, str]] = []  # by nanoseconds since the epoch
        self._asked: dict[str, tuple[str, str]] = {}  # key and task, by the id of the command
        self._told: dict[str, tuple[str, str]] = {}  # key and task, by the id of the command to the process
        self._wakes_s = float("inf")

    @property
    def active(self) -> int:
        """Processes with something to do."""
        return len(self._plans)

    @property
    def troubles(self) -> list[str]:
        """What is wrong with processes."""
        return [f"{key}: {its.trouble}" for key, its in self._plans.items() if its.trouble][:TROUBLES_MAX]

    def see(self, key: str, held: Held, wait_s: float, now: Moment, since_s: float = -inf) -> Iterator[Effect]:
        """Take notice of what a process has to do now, which was not there before the time ``since_s``; begin after
        ``wait_s`` seconds.
        """
        tasks, problem = todo(key, held)
        if problem:
            yield note("process.failed", "error", topic=self._topic, key=key, problem=problem)
        if not tasks and not problem:
            self._plans.pop(key, None)
            return
        before = self._plans.get(key, Plan()).tasks
        self._plans[key] = Plan(
            {name: before.get(name) or Running(task, since_s) for name, task in tasks.items()}, problem
        )
        for name, task in tasks.items():
            if name in before:
                continue
            if isinstance(task, At):
                heappush(self._timed, (task.time_ns, key, name))
            elif wait_s:
                heappush(self._later, (now.mono_s + wait_s, key, name))
            else:
                self._ready.append((key, name))

    def handle(self, message: Input, now: Moment) -> tuple[list[EntityCommand], list[Effect]]:
        """Handle an input; return the commands to processes, and effects."""
        match message:
            case Done(AskEntity(command=command), EntityOutcome() as outcome) if command.command_id in self._asked:
                return self._answered(command.command_id, outcome, now)
            case Failed(AskEntity(command=command), error) if command.command_id in self._asked:
                key, name = self._asked.pop(command.command_id)
                return [], list(self._again(key, name, str(error), now))
            case Tick("tasks"):
                self._wakes_s = float("inf")
        return [], []

    def work(self, now: Moment) -> Iterator[Effect | EntityCommand]:
        """Send what is due: effects, and commands to the processes themselves."""
        while self._later and self._later[0][0] <= now.mono_s:
            _, key, name = heappop(self._later)
            self._ready.append((key, name))
        while self._timed and self._timed[0][0] <= now.wall_ns:
            _, key, name = heappop(self._timed)
            if (its := self._find(key, name)) is not None and isinstance(its.task, At):
                yield self._tell(key, name, command_id(self._topic, key, name), its.task.command)
        while self._ready and len(self._asked) < ASKING_MAX:
            key, name = self._ready.popleft()
            its = self._find(key, name)
            if its is not None and isinstance(its.task, Ask) and not its.is_asked:
                yield self._command(key, name, its, its.task)
        yield from self._wake(now)

    def _command(self, key: str, name: str, its: Running, task: Ask) -> AskEntity:
        unique = command_id(self._topic, key, name)
        self._asked[unique] = key, name
        command = EntityCommand(
            key=task.key, command_id=unique, command=sealed(task.command), is_final=True, searched=0
        )
        its.is_asked = True
        return AskEntity(task.entity, command, its.since_s)

    def told(self, command: EntityCommand, outcome: EntityOutcome) -> Iterator[Effect]:
        """What a process did with a command from here."""
        key, name = self._told.pop(command.command_id, ("", ""))
        if outcome.code == OVERTAKEN and (plan := self._plans.get(key)) is not None and name in plan.tasks:
            its = plan.tasks[name]
            its.is_over = its.is_asked = False
            if isinstance(its.task, At):
                heappush(self._timed, (its.task.time_ns, key, name))
            else:
                self._ready.append((key, name))
        elif outcome.problem and (plan := self._plans.get(command.key)) is not None:
            plan.trouble = outcome.problem
            yield note("process.failed", "error", topic=self._topic, key=command.key, problem=outcome.problem)

    def _find(self, key: str, name: str) -> Running | None:
        plan = self._plans.get(key)
        its = plan.tasks.get(name) if plan else None
        return its if its and not its.is_over else None

    def _answered(self, unique: str, outcome: EntityOutcome, now: Moment) -> tuple[list[EntityCommand], list[Effect]]:
        key, name = self._asked.pop(unique)
        if outcome.problem and not outcome.refused:
            return [], list(self._again(key, name, outcome.problem, now))
        if (its := self._find(key, name)) is None:  # it was told the same from elsewhere
            return [], []
        its.is_over = True
        answer = Answered(task=name, code=outcome.code if outcome.refused else "", problem=outcome.problem)
        return [self._tell(key, name, f"{unique}/answer", answer)], []

    def _tell(self, key: str, name: str, unique: str, command: Event) -> EntityCommand:
        """A command to a process, about a task."""
        self._told[unique] = key, name
        return EntityCommand(key=key, command_id=unique, command=sealed(command))

    def _again(self, key: str, name: str, problem: str, now: Moment) -> Iterator[Effect]:
        its = self._find(key, name)
        if its is None:
            return
        its.is_asked, its.failures = False, its.failures + 1
        self._plans[key].trouble = f"{name}: {problem}"
        level = "warning" if its.failures == 1 else "debug"
        yield note("process.delayed", level, topic=self._topic, key=key, task=name, problem=problem)
        heappush(self._later, (now.mono_s + AGAIN.delay_s(its.failures, self._rng), key, name))

    def _wake(self, now: Moment) -> Iterator[Effect]:
        waits = [LOOK_S] if self._timed else []
        waits += [self._later[0][0] - now.mono_s] if self._later else []
        waits += [(self._timed[0][0] - now.wall_ns) / 1e9] if self._timed else []
        if waits and (wait_s := max(0.0, min(waits))) + now.mono_s < self._wakes_s:
            self._wakes_s = now.mono_s + wait_s
            yield After("tasks", wait_s)
