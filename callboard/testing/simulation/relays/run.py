"""Runs the plan of places and relays, and reports the outcome."""

import asyncio
import tempfile
import time
from collections import Counter
from collections.abc import Mapping
from contextlib import ExitStack, suppress
from pathlib import Path

from structlog.testing import capture_logs

from callboard.actors.runtime.simulated.simulated import Simulation
from callboard.actors.runtime.simulated.virtual_loop import StuckError
from callboard.testing.simulation.distribution.run import crash_of, livelocks
from callboard.testing.simulation.engine.outcome import Outcome, Violation
from callboard.testing.simulation.relays.place import Place
from callboard.testing.simulation.relays.plan import SHAPES, RelaysPlan, plan
from callboard.testing.simulation.relays.stage import RelaysStage

TURNS_MAX = 600_000
"""Limit of loop turns in one simulation, of up to four logs; more are a sign of a livelock."""

COUNTED = (
    *SHAPES, "relayed", "result carried", "site exchanged", "SendCommand", "Lose", "CutOff", "Suspend", "Restart",
    "Kill", "Outage", "Trim", "log replaced", "log set back", "disk lost", "gap in the log", "short answer",
)  # fmt: skip
"""Counters that must not be zero."""


def run(plan: RelaysPlan) -> Outcome[RelaysPlan]:
    """Run the plan in this thread, to its end or the first violation."""
    began_s = time.perf_counter()
    places: dict[str, Place] = {}
    with (
        tempfile.TemporaryDirectory(prefix="callboard-sim-") as folder,
        capture_logs() as logged,
        Simulation(plan.seed) as simulation,
    ):
        for name in plan.edges:
            places[name] = Place(simulation, plan, name, Path(folder) / name, places)
        first = next(iter(places.values())).scene
        with suppress(StuckError), ExitStack() as watched:
            watched.enter_context(livelocks(simulation, first, TURNS_MAX))
            simulation.run(_play(plan, places))
        if (crash := crash_of(logged)) and not _violation(places):
            first.wrong("no actor crashes", crash)
        counts: Counter[str] = Counter({plan.shape: 1})
        met, performed = Counter[tuple[str, object]](), Counter[str]()
        for place in places.values():
            counts += place.scene.count
            counts += Counter({"gap in the log": place.log.gaps, "short answer": place.log.short})
            met.update(place.fates.met)
            performed.update(place.fates.performed)
        return Outcome(
            plan, _violation(places), simulation.steps, simulation.trace, tuple(simulation.tail),
            simulation.loop.time(), time.perf_counter() - began_s, met, performed, counts,  # type: ignore[arg-type]
        )  # fmt: skip


def run_seed(seed: int) -> Outcome[RelaysPlan]:
    """Run the whole plan of a seed."""
    return run(plan(seed))


def _violation(places: Mapping[str, Place]) -> Violation | None:
    found = (
        Violation(broken.rule, f"{name}: {broken.story}")
        for name, place in places.items()
        if (broken := place.scene.violation) is not None
    )
    return next(found, None)


async def _play(plan: RelaysPlan, places: Mapping[str, Place]) -> None:
    """Run until the end of the plan or the first violation."""
    play = asyncio.ensure_future(RelaysStage(plan, places).play())
    found = [asyncio.ensure_future(place.scene.found.wait()) for place in places.values()]
    await asyncio.wait({play, *found}, return_when=asyncio.FIRST_COMPLETED)
    for task in (play, *found):
        task.cancel()
    if play.done() and not play.cancelled() and (error := play.exception()) is not None:
        next(iter(places.values())).scene.wrong("the play itself ends", f"{type(error).__name__}: {error}")
        raise error
