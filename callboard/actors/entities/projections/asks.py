"""Sends the commands that a batch leads to, until all are answered."""

from collections.abc import Iterator
from hashlib import sha256
from random import Random

from callboard.actors.core.backoff import Backoff
from callboard.actors.core.decision import After, Done, Effect, Failed, Input, Tick, note
from callboard.actors.entities.asking import AskEntity
from callboard.actors.entities.processes.process import Ask
from callboard.actors.entities.projections.batch import Folded
from callboard.actors.entities.projections.projection import Recorded
from callboard.messages.entities.entity_mail import EntityCommand, EntityOutcome
from callboard.messages.entities.sealing import sealed

ASKING_MAX = 100
"""Commands of a reaction on their way at once."""

AGAIN = Backoff(first_s=0.5, max_s=60.0)
"""Between attempts to send a command."""

TROUBLES_MAX = 20
"""Troubles that are told."""


class Asks:
    """See the module. The owner passes answers and timers to ``handle``."""

    def __init__(self, name: str, rng: Random) -> None:
        self._name, self._rng = name, rng
        self._attempt = 0
        self.refused = 0
        """Commands that were refused."""
        self.clear()

    def clear(self) -> None:
        """Forget all commands."""
        self._asks: dict[str, AskEntity] = {}  # that are not answered yet
        self._asking: set[str] = set()
        self._later: list[str] = []

    def __len__(self) -> int:
        return len(self._asks)

    @property
    def troubles(self) -> tuple[str, ...]:
        """What delays it."""
        delayed = (f"{self._asks[each].command.key}: not answered" for each in self._later if each in self._asks)
        return tuple(delayed)[:TROUBLES_MAX]

    def add(self, its: Folded, since_s: float) -> None:
        """Add the commands of a batch, which were sent by nobody before this time."""
        self._attempt = 0
        for recorded, ask in its.asks:
            unique = command_id(self._name, its.topic, recorded, ask)
            command = EntityCommand(
                key=ask.key, command_id=unique, command=sealed(ask.command), is_final=True, searched=0
            )
            self._asks[unique] = AskEntity(ask.entity, command, since_s)

    def send(self) -> Iterator[Effect]:
        """Send the next ones."""
        for unique, effect in self._asks.items():
            if len(self._asking) >= ASKING_MAX:
                break
            if unique not in self._asking and unique not in self._later:
                self._asking.add(unique)
                yield effect

    def handle(self, message: Input) -> Iterator[Effect]:
        """Handle an answer, or the timer of those that have none."""
        match message:
            case Done(AskEntity(command=command), EntityOutcome() as outcome) if command.command_id in self._asking:
                self._asking.discard(command.command_id)
                if outcome.problem and not outcome.refused:
                    yield from self._ask_later(command, outcome.problem)
                    return
                if outcome.refused:
                    self.refused += 1
                    yield note("reaction.refused", name=self._name, key=command.key, why=outcome.problem)
                del self._asks[command.command_id]
                yield from self.send()
            case Failed(AskEntity(command=command), error) if command.command_id in self._asking:
                self._asking.discard(command.command_id)
                yield from self._ask_later(command, str(error))
            case Tick("asks"):
                self._later.clear()
                yield from self.send()

    def _ask_later(self, command: EntityCommand, problem: str) -> Iterator[Effect]:
        self._later.append(command.command_id)
        self._attempt += 1
        level = "warning" if self._attempt == 1 else "debug"
        yield note("reaction.delayed", level, name=self._name, key=command.key, problem=problem)
        yield After("asks", AGAIN.delay_s(self._attempt, self._rng))


def command_id(name: str, topic: str, recorded: Recorded, ask: Ask) -> str:
    """The id of the command that an event leads to: the same whenever it is sent."""
    where = f"{name}\0{topic}\0{recorded.offset}\0{recorded.place}\0{ask.name}"
    return sha256(where.encode()).hexdigest()[:40]
