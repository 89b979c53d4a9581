"""What the engine knows of a plan, and what came of one; the fleet that is simulated has plans of its own."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Generic, Protocol, Self, TypeVar

from callboard.testing.simulation.engine.fates import Fault


class Planned(Protocol):
    """Everything that a seed decides before the simulation begins."""

    @property
    def seed(self) -> int:
        """Decides."""

    @property
    def acts(self) -> Sequence[object]:
        """What happens from outside."""

    @property
    def odds(self) -> Mapping[Fault, float]:
        """Of each fault at one effect."""

    @property
    def kept(self) -> Sequence[int] | None:
        """The numbers of the acts that are left of the seed's; None for all."""

    @property
    def command(self) -> str:
        """What replays it."""

    def shortened(self, kept: Iterable[int] | None = None, faults: Iterable[Fault] | None = None) -> Self:
        """The same with these of the seed's acts only, by their numbers, and these faults only."""


P = TypeVar("P", bound=Planned)


@dataclass(frozen=True, slots=True)
class Violation:
    """Something that must never be: which rule was broken, and how."""

    rule: str
    story: str

    def __str__(self) -> str:
        return f"{self.rule}: {self.story}"


@dataclass(frozen=True, slots=True)
class Outcome(Generic[P]):
    """What came of a plan.

    ``met`` is how often which kind of effect met which fault, ``counts`` how often what else happened. ``virtual_s``
    and ``took_s`` are seconds of the simulation, and of this machine.
    """

    plan: P
    violation: Violation | None
    steps: int
    trace: str
    tail: tuple[str, ...]
    virtual_s: float
    took_s: float
    met: Counter[tuple[str, Fault]] = field(default_factory=Counter)
    performed: Counter[str] = field(default_factory=Counter)
    counts: Counter[str] = field(default_factory=Counter)

    @property
    def story(self) -> str:
        """For people: what was wrong, what led to it, and how to see it again."""
        lines = [f"seed {self.plan.seed}, step {self.steps}, after {self.virtual_s:.3f} virtual seconds:"]
        lines += [f"  {self.violation}", "the last steps:", *(f"  {line}" for line in self.tail)]
        return "\n".join([*lines, f"replay with: {self.plan.command}"])
