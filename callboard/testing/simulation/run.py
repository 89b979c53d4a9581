"""Runs a plan, and says what came of it."""

import asyncio
import tempfile
import time
from collections import Counter
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from structlog.testing import capture_logs

from callboard.actors.runtime import Simulation
from callboard.actors.runtime.virtual_loop import StuckError
from callboard.testing.simulation.fates import Fault
from callboard.testing.simulation.fleet import Fleet
from callboard.testing.simulation.plan import Plan
from callboard.testing.simulation.scene import Violation
from callboard.testing.simulation.stage import Stage

STEPS_MAX = 400_000
"""Of one simulation; more are a sign that somebody is busy with nothing for ever."""


@dataclass(frozen=True, slots=True)
class Outcome:
    """What came of a plan.

    ``met`` is how often which kind of effect met which fault, ``counts`` how often what else happened. ``virtual_s``
    and ``took_s`` are seconds of the simulation, and of this machine.
    """

    plan: Plan
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


def run(plan: Plan) -> Outcome:
    """Run it in this thread, to its end or the first violation."""
    began_s = time.perf_counter()
    with (
        tempfile.TemporaryDirectory(prefix="callboard-sim-") as folder,
        capture_logs() as logged,
        Simulation(plan.seed) as simulation,
    ):
        fleet = Fleet(simulation, plan, Path(folder))
        with suppress(StuckError):
            simulation.run(_play(fleet))
        scene, log = fleet.scene, fleet.log
        if scene.violation is None and (crash := _crash(logged)):
            scene.wrong("no actor crashes", crash)
        counts = scene.count + Counter(
            {
                "gap in the log": log.gaps, "record repeated": log.repeated, "short answer": log.short,
                "refused in an outage": log.refused, "blob missing": fleet.blobs.missing,
                "blob corrupt": fleet.blobs.corrupt,
            }
        )  # fmt: skip
        return Outcome(
            plan, scene.violation, simulation.steps, simulation.trace, tuple(simulation.tail), simulation.loop.time(),
            time.perf_counter() - began_s, fleet.fates.met, fleet.fates.performed, counts,
        )  # fmt: skip


async def _play(fleet: Fleet) -> None:
    """Until the play or the first violation ends it."""
    play = asyncio.ensure_future(Stage(fleet).play())
    found = asyncio.ensure_future(fleet.scene.found.wait())
    watch = asyncio.ensure_future(_watch(fleet))
    await asyncio.wait({play, found, watch}, return_when=asyncio.FIRST_COMPLETED)
    for task in (play, found, watch):
        task.cancel()
    if play.done() and not play.cancelled() and (error := play.exception()) is not None:
        fleet.scene.wrong("the play itself ends", f"{type(error).__name__}: {error}")
        raise error


async def _watch(fleet: Fleet) -> None:
    while fleet.simulation.steps < STEPS_MAX:  # noqa: ASYNC110  # nobody else could say so
        await asyncio.sleep(1.0)
    fleet.scene.wrong("nobody is busy for ever", f"{fleet.simulation.steps} steps")


def _crash(logged: Sequence[Mapping[str, Any]]) -> str:
    for line in logged:
        if line["event"] in ("actor.crashed", "supervisor.crashed", "agent.close_failed"):
            return f"{line.get('role', '')} {line.get('reason', '')}\n{line.get('traceback', '')}"
    return ""
