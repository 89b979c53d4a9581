"""How often each fault met each effect: what a run has really tested.

Every pair can occur: each effect makes a call that can fail and hang before and after the operation, and runs in a
process on a host. A missing pair was left out by chance: run more seeds.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence

from callboard.actors.core import effects, shortening
from callboard.actors.core.decision import Perform
from callboard.actors.publisher import effects as of_publishers
from callboard.actors.subscriber import effects as of_subscribers
from callboard.actors.subscriber.effects import CarryResults, ForwardCommand, SurveySite
from callboard.testing.simulation.engine.fates import Fault

OF_MEMBERS = (effects.EnsureTopic, effects.TrimTopic)
"""Performed by members of clusters only."""

OF_RELAYS = (SurveySite, ForwardCommand, CarryResults)
"""Performed by relays only."""

EFFECTS = tuple(
    sorted(
        name
        for module in (effects, shortening, of_publishers, of_subscribers)
        for name, kind in vars(module).items()
        if isinstance(kind, type) and issubclass(kind, Perform) and kind not in (Perform, *OF_MEMBERS, *OF_RELAYS)
    )
)
"""Every effect of publishers and subscribers."""

RELAY_EFFECTS = tuple(
    sorted({*EFFECTS, *(kind.__name__ for kind in OF_RELAYS)} - {"RunHook", "ShortenTopics", "CollectBlobs"})
)
"""Those of fleets with relays; hooks and janitors are for fleets without."""


def missing(
    met: Counter[tuple[str, Fault]], counts: Counter[str], counted: Iterable[str], effects: Sequence[str] = EFFECTS
) -> list[str]:
    """What a run has not tested at all: missing pairs, and counters at zero."""
    pairs = [f"{effect} {fault}" for effect in effects for fault in Fault if not met[effect, fault]]
    return pairs + [name for name in counted if not counts[name]]


def table(
    met: Counter[tuple[str, Fault]], performed: Counter[str], counts: Counter[str], counted: Iterable[str],
    effects: Sequence[str] = EFFECTS,
) -> Iterator[str]:  # fmt: skip
    """A table for display: a row for each effect, a column for each fault; then the counters."""
    width = max(map(len, effects), default=0)
    columns = [max(len(fault), 6) for fault in Fault]
    if effects:
        heads = (fault.rjust(n) for fault, n in zip(Fault, columns, strict=True))
        yield "  ".join(["".ljust(width), "performed", *heads])
    for effect in effects:
        cells = [str(met[effect, fault]).rjust(n) for fault, n in zip(Fault, columns, strict=True)]
        yield "  ".join([effect.ljust(width), str(performed[effect]).rjust(9), *cells])
    yield ", ".join(f"{name.lower()}: {counts[name]}" for name in counted)
