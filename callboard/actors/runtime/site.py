"""What a shell needs of the place where it runs: the time, and somebody to carry out its I/O."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Protocol

from callboard.actors.core.agent import Clock
from callboard.actors.core.decision import Perform
from callboard.errors import CallboardError


@dataclass(frozen=True, slots=True)
class EffectEnded:
    """An effect has ended: with a result, with an error and its ``trace`` for the decision, or with a ``bug`` (a
    traceback). ``question`` is the service's, at which it was begun.
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
        """What the shell must return from every handler to be woken for ended effects; None if nothing."""
        ...

    def start(self, effect: Perform, question: int) -> None:
        """Begin. Ends in exactly one ``EffectEnded``, with this question, unless the runner is closed before."""
        ...

    def ended(self) -> list[EffectEnded]:
        """What has ended since the last call, where that is not mailed to the shell."""
        ...

    def cancel(self) -> None:
        """Let nothing more come of what runs; returns at once."""
        ...

    def close(self) -> None:
        """Cancel, and release what belongs to this actor alone."""
        ...


class Site(Protocol):
    """Where a shell runs."""

    @property
    def clock(self) -> Clock:
        """Tells the time here."""
        ...

    def enter(self, role: str) -> None:
        """Make the place ready for this actor."""
        ...

    def pid_of_newest_child(self, parent: Any) -> int:
        """The process of the actor that ``parent`` has just created; 0 if it has none of its own."""
        ...

    def runner(self, mail_to_self: Callable[[EffectEnded], None]) -> EffectRunner:
        """A runner for one actor; ``mail_to_self`` may be called on the actor's own thread only."""
        ...
