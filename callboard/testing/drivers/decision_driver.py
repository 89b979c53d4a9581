"""Drives one decision as the shell does, in a test: feed an input, collect the effects, answer them."""

from dataclasses import dataclass, field
from typing import Any, TypeVar

from callboard.actors.core.decision import (
    After,
    Decision,
    Done,
    Effect,
    Failed,
    Input,
    Moment,
    Note,
    Origin,
    Perform,
    Reply,
    Send,
    Started,
    Stopped,
    Tick,
)
from callboard.actors.subscriber.effects import ImportPackages
from callboard.errors import CallboardError
from callboard.messages.event import Event

P = TypeVar("P", bound=Perform)
E = TypeVar("E", bound=Event)

NOBODY = Origin("")
BEGINNING = Moment(1_000_000_000_000, 100.0)


@dataclass
class DecisionDriver:
    """One incarnation of an actor, and all its effects.

    ``open`` holds the effects that still need a result, ``timers`` when each timer expires.
    """

    decision: Decision
    now: Moment = BEGINNING
    effects: list[Effect] = field(default_factory=list)
    open: list[Perform] = field(default_factory=list)
    timers: dict[str, float] = field(default_factory=dict)
    stopped: bool = False

    def __post_init__(self) -> None:
        self.feed(Started())

    def feed(self, message: Input, origin: Origin = NOBODY) -> list[Effect]:
        """Feed one input, and return the effects."""
        assert not self.stopped, "an actor that has stopped gets no input"
        new: list[Effect] = []
        for effect in self.decision.receive(message, origin, self.now):
            new.append(effect)
            if isinstance(effect, Stopped):
                self.stopped = True
                break
            if isinstance(effect, Perform):
                self.open.append(effect)
            elif isinstance(effect, After):
                self._set_timer(effect)
        self.effects += new
        return new

    def pass_time(self, seconds: float) -> None:
        """Let time pass; timers do not expire by themselves."""
        self.now = Moment(self.now.wall_ns + int(seconds * 1e9), self.now.mono_s + seconds)

    def tick(self, key: str) -> list[Effect]:
        """Let time pass until this timer expires, and expire it."""
        self.pass_time(max(0.0, self.timers.pop(key) - self.now.mono_s))
        return self.feed(Tick(key))

    # Effects that need a result.

    def asks(self, kind: type[Perform]) -> bool:
        """Whether an effect of this kind is open."""
        return any(isinstance(effect, kind) for effect in self.open)

    def asked(self, kind: type[P]) -> P:
        """The one open effect of this kind."""
        (effect,) = [effect for effect in self.open if isinstance(effect, kind)]
        return effect

    def done(self, kind: type[P], result: Any = None) -> P:
        """Complete it; an import stores the ledger that it was given."""
        effect = self._take(kind)
        self.feed(Done(effect, effect.ledger if isinstance(effect, ImportPackages) else result))
        return effect

    def fail(self, kind: type[P], error: CallboardError) -> P:
        """Fail it."""
        effect = self._take(kind)
        self.feed(Failed(effect, error))
        return effect

    # Other effects.

    def sent(self, kind: type[E]) -> list[E]:
        """The mail of this kind, so far."""
        return [effect.event for effect in self.effects if isinstance(effect, Send) and isinstance(effect.event, kind)]

    def replies(self) -> list[tuple[Origin, Event]]:
        """The answers to questions, so far."""
        return [(effect.origin, effect.event) for effect in self.effects if isinstance(effect, Reply)]

    def notes(self) -> list[str]:
        """The lines for the log of the process, so far."""
        return [effect.event for effect in self.effects if isinstance(effect, Note)]

    def _take(self, kind: type[P]) -> P:
        effect = self.asked(kind)
        self.open = [other for other in self.open if other is not effect]
        return effect

    def _set_timer(self, timer: After) -> None:
        if timer.seconds < 0:
            self.timers.pop(timer.key, None)
        else:
            self.timers[timer.key] = self.now.mono_s + timer.seconds
