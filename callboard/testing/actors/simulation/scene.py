"""One seed: clients send the commands of a story to services, and everything that they and the log say is judged."""

import asyncio
from collections import Counter, deque
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from math import inf
from random import Random
from typing import NamedTuple

from callboard.actors.core.agent import AgentSpec
from callboard.actors.entities import roles
from callboard.actors.entities.entity import Entity
from callboard.actors.entities.processes.process import Ask, At
from callboard.actors.entities.projections import ProjectorSettings
from callboard.actors.runtime.simulated.simulated import Simulation
from callboard.errors import AgentFailed, NotAnswered, RequestRefused
from callboard.messages.entities.entity_mail import EntityCommand, EntityCommands, EntityOutcome
from callboard.messages.entities.sealing import sealed
from callboard.messages.event import Event
from callboard.messages.record import Record
from callboard.testing.actors.rehearsal import shown
from callboard.testing.actors.simulation.history import History
from callboard.testing.actors.simulation.judge import CALM_S, Judge
from callboard.testing.actors.simulation.services import Services
from callboard.testing.actors.simulation.view import View
from callboard.testing.actors.story import Command
from callboard.testing.simulation.engine.simulated_log import SimulatedLog

GAPS_S = (0.0, 0.02, 0.2, 1.0)
"""The longest time between two commands: in some seeds they all come at once."""

FAULTS_S = 10.0
"""The faults go on at most until then, or until the last command of the story."""

AGAIN = 0.2
"""The share of commands that are sent once more after their answer."""

PATIENCE_S = (0.3, 10.0)
"""How long a client waits for an answer before it asks again, mostly another service."""

PAUSE_S = 1.0
"""Before a client asks again."""

NOTICE_S = 30.0
"""After this time, every service knows that the log was replaced."""

SETTLE_S = 5.0
"""Between two looks whether processes have nothing to do any more."""

SOON_S = 3 * 3600.0
"""Tasks whose time is later are not waited for."""

QUIET_S = 20.0
"""Then, in this time, everything arrives that was late, and everybody reads it."""

TOLD = 50
"""Lines that are shown of a seed that failed."""


class Answer(NamedTuple):
    """An answer to a client, when it asked, and what the clock of the service showed then and at the answer."""

    entity: type[Entity]
    its: EntityCommand
    outcome: EntityOutcome
    asked_s: float
    clock_ns: tuple[int, int]


class Scene:
    """See the module.

    Args:
        simulation: of the seed.
        topics: of the entities, by their classes.
        agents: that run beside them.
        follows: the settings of projections and reactions.
        invariant: called after every commit and record, and at the end.
    """

    def __init__(
        self, simulation: Simulation, topics: Mapping[type[Entity], str], agents: Sequence[AgentSpec],
        follows: Sequence[ProjectorSettings], invariant: Callable[[View], None],
    ) -> None:  # fmt: skip
        self._simulation, self._topics, self._invariant = simulation, topics, invariant
        self.told, self.count = deque[str](maxlen=TOLD), Counter[str]()
        rng = self._rng = Random(simulation.rng.random())  # noqa: S311 - reproducible, not secret
        self._log = SimulatedLog(
            simulation.loop, rng, self._now_ns, lambda *_: self._now_ns(), keys=rng.random() < 0.5,
            unrepeatable=(), witness=self._appended, trimmed=lambda *_: None, leading_gaps=False,
        )  # fmt: skip
        known = [*topics.values(), *(topic for spec in agents for topic in spec.topics)]
        self._records: dict[str, list[Record]] = {topic: [] for topic in known}
        self._services = Services(simulation, self._log, topics, agents, follows, self._note, self._replace)
        self._new, self._news = deque[tuple[str, Record]](), asyncio.Event()
        self._commands: dict[str, Event] = {}
        self._asked = Counter[str]()
        self._answers: list[Answer] = []
        self._replaced_s = -inf
        self._histories: dict[type[Entity], History] = {}
        self._forget()
        self._follows = follows
        self._judge = Judge(self._services, topics, self._histories, self._records)
        rows = {its.of: self._judge.rows(its) for its in follows if its.row}
        self._view = View(self._histories, self._records, rows)

    async def play(self, commands: Iterable[Command]) -> None:
        """Play it all. Raises ``AssertionError`` if anything is wrong."""
        for topic in self._records:
            await self._log.memory.ensure(topic)
        self._services.start()
        both = [asyncio.ensure_future(self._watch()), asyncio.ensure_future(self._story(commands))]
        done, _ = await asyncio.wait(both, return_when=asyncio.FIRST_COMPLETED)
        for task in done:
            await task
        await self._services.stop()
        self.count += self._services.troubles
        for (_, fault), many in self._services.fates.met.items():
            self.count[str(fault)] += many

    async def _story(self, commands: Iterable[Command]) -> None:
        trouble = asyncio.ensure_future(self._services.trouble())
        trouble.add_done_callback(_notice)
        gap_s, clients = self._rng.choice(GAPS_S), list[asyncio.Future[None]]()
        for number, (entity, key, command) in enumerate(commands, 1):
            its = EntityCommand(key=key, command_id=f"command {number}", command=sealed(command))
            self._commands[its.command_id] = command
            clients.append(asyncio.ensure_future(self._client(entity, its)))
            await asyncio.sleep(self._rng.uniform(0.0, gap_s))
        await asyncio.sleep(max(0.0, self._rng.uniform(0.0, FAULTS_S) - self._simulation.loop.time()))
        trouble.cancel()
        with suppress(asyncio.CancelledError):
            await trouble  # the invariant may have failed in there
        self._note("no more faults")
        self._services.fates.active = self._log.active = False
        _, late = await asyncio.wait(clients, timeout=CALM_S) if clients else (set(), set())
        assert not late, f"{len(late)} commands are not answered, {CALM_S:g} s after the last fault"
        await asyncio.gather(*clients)
        await self._settle()
        await asyncio.sleep(QUIET_S)
        self._look()
        for answer in self._answers:
            self._check(answer)
        await self._judge.compare_states((answer.entity, answer.its.key) for answer in self._answers)
        for settings in self._follows:
            self._judge.compare_rows(settings)
        self._view.ended = True
        self._invariant(self._view)

    async def _settle(self) -> None:
        """Wait until processes have nothing to do, or only at a time that is far away. Raises ``AssertionError`` if
        they do not come to that.
        """
        begun_s = idle_s = self._simulation.loop.time()
        while True:
            await asyncio.sleep(SETTLE_S)
            self._look()
            now_s = self._simulation.loop.time()
            tasks = [(key, each) for its in self._histories.values() for key, each in its.tasks()]
            asks = [f"{key}: {each.name}" for key, each in tasks if isinstance(each, Ask)]
            for _, each in tasks:
                if isinstance(each, Ask):
                    self._services.demand(each.entity)
            near_ns = self._now_ns() + int(SOON_S * 1e9)
            if not asks and not any(isinstance(each, At) and each.time_ns < near_ns for _, each in tasks):
                return
            idle_s = idle_s if asks else now_s
            assert now_s < idle_s + CALM_S, f"these tasks do not end: {asks[:5]}"
            assert now_s < begun_s + CALM_S + 2 * SOON_S, f"these tasks do not end: {tasks[:5]}"

    # Clients.

    async def _client(self, entity: type[Entity], its: EntityCommand) -> None:
        """Send a command until it is answered, and perhaps once more."""
        self.count["commands"] += 1
        left = 1 + (self._rng.random() < AGAIN)
        while left:
            left -= await self._is_answered(entity, its)
            await asyncio.sleep(self._rng.uniform(0.0, PAUSE_S))

    async def _is_answered(self, entity: type[Entity], its: EntityCommand) -> bool:
        number, host = self._rng.choice(list(enumerate(self._services.keepers[entity], 1)))
        if host.agent is None:
            return False
        asked_s, asked_ns, where = self._simulation.loop.time(), host.clock.now().wall_ns, f"service {number}"
        self._asked[its.command_id] += 1
        self._note(f"{where} gets {its.command_id}: {its.key!r} {shown(self._commands[its.command_id])}")
        try:
            question = EntityCommands(commands=(its,))
            outcome = (await host.agent.ask(roles.KEEPER, question, self._rng.uniform(*PATIENCE_S))).outcomes[0]
        except (AgentFailed, NotAnswered, RequestRefused) as error:
            self._note(f"{where} does not answer {its.command_id}: {type(error).__name__}")
            return False
        what = outcome.problem or f"version {outcome.version}, offset {outcome.offset}"
        self._note(f"{where} answers {its.command_id}: {what}")
        self._answers.append(Answer(entity, its, outcome, asked_s, (asked_ns, host.clock.now().wall_ns)))
        return outcome.code != "overtaken"

    # What is watched.

    def _appended(self, topic: str, record: Record) -> None:
        if topic in self._records:
            self._new.append((topic, record))
            self._news.set()

    async def _watch(self) -> None:
        while await self._news.wait():
            self._news.clear()
            self._look()

    def _look(self) -> None:
        while self._new:
            topic, record = self._new.popleft()
            self._records[topic].append(record)
            its = next((self._histories[entity] for entity, known in self._topics.items() if known == topic), None)
            if its is None or its.see(record):
                self._invariant(self._view)

    async def _replace(self, age_s: float) -> None:
        """Put a copy of this age in the place of the log."""
        await self._log.exchange(self._records, self._now_ns() - int(age_s * 1e9))
        self._replaced_s = self._simulation.loop.time()
        self._new.clear()
        self._forget()
        for topic, records in self._records.items():
            first, end = await self._log.memory.bounds(topic)
            await self._log.memory.complete(topic, f"copy of {topic}", first, end)
            records[:] = await self._log.memory.read(topic, first, end)
        for entity, topic in self._topics.items():
            for record in self._records[topic]:
                self._histories[entity].see(record)
        self._invariant(self._view)

    def _forget(self) -> None:
        for entity in self._topics:
            self._histories[entity] = History(entity, self._commands, self._note)

    # What is judged.

    def _check(self, answer: Answer) -> None:
        entity, its, outcome, asked_s, clock_ns = answer
        if asked_s < self._replaced_s + NOTICE_S or outcome.code == "overtaken":
            return
        history, name = self._histories[entity], f"{its.command_id} to {its.key!r}"
        made = history.made.get(its.command_id)
        if outcome.offset >= 0:
            told = outcome.version, outcome.offset
            assert made == told, f"{name} was answered with version and offset {told}, but the log has {made}"
            return
        assert outcome.refused or not outcome.problem, f"{name} failed: {outcome.problem}"
        assert made is None or self._asked[its.command_id] > 1, f"{name} was refused, but the log has {made}"
        decided = [
            history.decided(its.key, outcome.version, self._commands[its.command_id], now_ns) for now_ns in clock_ns
        ]
        wanted = outcome.code if outcome.refused else ()
        what = f"{name} was answered with {wanted!r}, but version {outcome.version} led to {decided[0]!r}"
        assert wanted in decided, what

    def _note(self, line: str) -> None:
        self.told.append(f"{self._simulation.loop.time():9.3f} {line}")

    def _now_ns(self) -> int:
        return self._simulation.clock.now().wall_ns


def _notice(task: asyncio.Future[None]) -> None:
    """Its error is raised where it is awaited, unless another one came first."""
    if not task.cancelled():
        task.exception()
