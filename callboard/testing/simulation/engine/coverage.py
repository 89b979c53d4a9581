"""Which fault met which effect how often: what a run has really tried.

Every pair can occur: each effect makes a call that can fail and hang before its deed and after it, and is carried out
in a process on a host. So a pair that has not occurred was left out by chance, for which more seeds are the remedy.
"""

from collections import Counter
from collections.abc import Iterator

from callboard.actors.core import effects
from callboard.actors.core.decision import Perform
from callboard.testing.simulation.engine.fates import Fault

EFFECTS = tuple(
    sorted(
        name
        for name, kind in vars(effects).items()
        if isinstance(kind, type) and issubclass(kind, Perform) and kind is not Perform
    )
)
"""Every effect that there is."""

COUNTED = (
    "gap in the log", "record repeated", "short answer", "refused in an outage", "blob missing", "blob corrupt",
    "cut off", "Outage", "Trim", "Skew", "Lose", "Restart", "Kill", "Poison", "SendCommand", "Look", "CutOff",
    "Suspend", "log replaced", "log set back", "disk lost", "position reset",
)  # fmt: skip
"""What else must have happened."""


def missing(met: Counter[tuple[str, Fault]], counts: Counter[str]) -> list[str]:
    """What a run has not tried at all."""
    pairs = [f"{effect} {fault}" for effect in EFFECTS for fault in Fault if not met[effect, fault]]
    return pairs + [name for name in COUNTED if not counts[name]]


def table(met: Counter[tuple[str, Fault]], performed: Counter[str], counts: Counter[str]) -> Iterator[str]:
    """Lines for people: a row for each effect, a column for each fault; then what else happened."""
    width = max(map(len, EFFECTS))
    columns = [max(len(fault), 6) for fault in Fault]
    yield "  ".join(["".ljust(width), "performed", *(fault.rjust(n) for fault, n in zip(Fault, columns, strict=True))])
    for effect in EFFECTS:
        cells = [str(met[effect, fault]).rjust(n) for fault, n in zip(Fault, columns, strict=True)]
        yield "  ".join([effect.ljust(width), str(performed[effect]).rjust(9), *cells])
    yield ", ".join(f"{name.lower()}: {counts[name]}" for name in COUNTED)
