"""What a shell needs of the place where it runs: a clock, and a runner for its I/O."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Protocol

from callboard.actors.core.agent import Clock
from callboard.actors.core.decision import Perform
from callboard.actors.runtime.mail import Mail
from callboard.errors import CallboardError


@dataclass(frozen=True, slots=True)
class EffectEnded:
    """An effect has ended: with a result, with an error and its ``trace`` for the decision, or with a ``bug`` (a
    traceback). ``question`` is the service's question at which it was begun.
    """

    effect: Perform
    question: int
    result: Any = None
    error: CallboardError | None = None
    trace: str = ""
    bug: str = ""

    def __str__(self) -> str:
        return "EffectEnded"


class EffectRunner(Protocol):
    """Carries out the effects of one actor, off its thread of control."""

    @property
    def watch(self) -> Any:
        """The value that the shell must return from every handler to be woken for outcomes; None if not needed."""
        ...

    def start(self, effect: Perform, question: int) -> None:
        """Begin. Ends in exactly one ``EffectEnded``, with this question, unless the runner is closed first."""
        ...

    def ended(self) -> list[EffectEnded]:
        """Outcomes since the last call, where they are not mailed to the shell."""
        ...

    def cancel(self) -> None:
        """Discard the outcomes of running effects; returns at once."""
        ...

    def close(self) -> None:
        """Cancel, and release resources of this actor alone."""
        ...


class Site(Protocol):
    """Where a shell runs."""

    @property
    def clock(self) -> Clock:
        """The clock of this place."""
        ...

    @property
    def least_wake_s(self) -> float:
        """The shortest time after which an actor can be woken without harm."""
        ...

    def outgoing(self, mail: Mail) -> Any:
        """The mail as it is sent here. Raises what is wrong with an event that must be encoded, and cannot be."""
        ...

    def enter(self, role: str) -> None:
        """Prepare the place for this actor."""
        ...

    def pid_of_newest_child(self, parent: Any) -> int:
        """The process of the actor that ``parent`` has just created; 0 if it has none of its own."""
        ...

    def runner(self, mail_to_self: Callable[[EffectEnded], None]) -> EffectRunner:
        """A runner for one actor; ``mail_to_self`` may be called on the actor's own thread only."""
        ...
