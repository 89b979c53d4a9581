"""The engine's view of a plan, and the outcome of one; each kind of simulation has its own plans."""

from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar, Generic, Self, TypeVar

from callboard.testing.simulation.engine.fates import Fault


@dataclass(frozen=True)
class Planned(ABC):
    """What a seed decides before the simulation begins.

    ``acts`` happen from outside; ``odds`` are those of each fault at one effect. ``kept`` are the numbers of those of
    the seed's acts that are left; None for all.
    """

    seed: int
    acts: tuple[Any, ...]
    odds: Mapping[Fault, float]
    kept: tuple[int, ...] | None = None

    program: ClassVar[str] = "callboard simulate"
    """The command that runs such plans."""

    @abstractmethod
    def whole(self) -> Self:
        """The full plan of the seed."""

    def shortened(self, kept: Iterable[int] | None = None, faults: Iterable[Fault] | None = None) -> Self:
        """The plan with only these of the seed's acts, by number, and only these faults."""
        whole = self.whole()
        numbers = tuple(sorted(kept)) if kept is not None else self.kept
        chosen = range(len(whole.acts)) if numbers is None else numbers
        acts = tuple(whole.acts[number] for number in chosen)
        allowed = set(faults) if faults is not None else set(self.odds)
        odds = {fault: share for fault, share in whole.odds.items() if fault in allowed}
        return replace(whole, acts=acts, odds=odds, kept=numbers)

    @property
    def command(self) -> str:
        """The command that replays it."""
        whole = self.whole()
        words = [self.program, f"--seed {self.seed}"]
        if self.kept is not None:
            words.append(f"--acts {','.join(map(str, self.kept)) or 'none'}")
        if self.odds.keys() != whole.odds.keys():
            words.append(f"--faults '{','.join(self.odds) or 'none'}'")
        return " ".join(words)


P = TypeVar("P", bound=Planned)


@dataclass(frozen=True, slots=True)
class Violation:
    """A broken rule: its name, and how it was broken."""

    rule: str
    story: str

    def __str__(self) -> str:
        return f"{self.rule}: {self.story}"


@dataclass(frozen=True, slots=True)
class Outcome(Generic[P]):
    """The outcome of a plan.

    ``met`` is how often each kind of effect met each fault; ``counts`` is how often other things happened.
    ``virtual_s`` and ``took_s`` are seconds of the simulation, and of this machine.
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
        """For display: the violation, what led to it, and how to replay it."""
        lines = [f"seed {self.plan.seed}, step {self.steps}, after {self.virtual_s:.3f} virtual seconds:"]
        lines += [f"  {self.violation}", "the last steps:", *(f"  {line}" for line in self.tail)]
        return "\n".join([*lines, f"replay with: {self.plan.command}"])
