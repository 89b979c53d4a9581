"""Runs a plan, and reports the outcome."""

import asyncio
import signal
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from structlog.testing import capture_logs

from callboard.actors.runtime.simulated.simulated import Simulation
from callboard.actors.runtime.simulated.virtual_loop import BusyError, StuckError
from callboard.testing.simulation.distribution.fleet import Fleet
from callboard.testing.simulation.distribution.plan import Plan, plan
from callboard.testing.simulation.distribution.scene import Scene
from callboard.testing.simulation.distribution.stage import Stage
from callboard.testing.simulation.distribution.world import POISON
from callboard.testing.simulation.engine.outcome import Outcome

TURNS_MAX = 150_000
"""Limit of loop turns in one simulation, about two for each step; more are a sign of a livelock. The longest that end
take a third of them."""

CPU_MAX_S = 60.0
"""Seconds of processor time for one simulation; it ends at the next turn."""

HANDLER_MAX_S = 10.0
"""Seconds of processor time until a handler that never returns is ended, wherever it is."""

COUNTED = (
    "gap in the log", "record repeated", "short answer", "refused in an outage", "blob missing", "blob corrupt",
    "cut off", "Outage", "Trim", "Skew", "Lose", "Restart", "Kill", "Poison", "SendCommand", "Look", "CutOff",
    "Suspend", "Delay", "log replaced", "log set back", "disk lost", "position reset",
)  # fmt: skip
"""Counters that must not be zero, either."""


def run(plan: Plan) -> Outcome[Plan]:
    """Run the plan in this thread, to its end or the first violation."""
    began_s = time.perf_counter()
    with (
        tempfile.TemporaryDirectory(prefix="callboard-sim-") as folder,
        capture_logs() as logged,
        Simulation(plan.seed) as simulation,
    ):
        fleet = Fleet(simulation, plan, Path(folder))
        scene, log = fleet.scene, fleet.log
        with suppress(StuckError), livelocks(simulation, scene, TURNS_MAX):
            simulation.run(_play(fleet))
        if scene.violation is None and (crash := crash_of(logged)):
            scene.wrong("no actor crashes", crash)
        counts = scene.count + Counter(
            {
                "gap in the log": log.gaps, "record repeated": log.repeated, "short answer": log.short,
                "refused in an outage": log.refused, "cut off": log.cut, "blob missing": fleet.blobs.missing,
                "blob corrupt": fleet.blobs.corrupt,
            }
        )  # fmt: skip
        return Outcome(
            plan, scene.violation, simulation.steps, simulation.trace, tuple(simulation.tail), simulation.loop.time(),
            time.perf_counter() - began_s, fleet.fates.met, fleet.fates.performed, counts,
        )  # fmt: skip


def run_seed(seed: int) -> Outcome[Plan]:
    """Run the whole plan of a seed."""
    return run(plan(seed))


async def _play(fleet: Fleet) -> None:
    """Run until the end of the plan or the first violation."""
    play = asyncio.ensure_future(Stage(fleet).play())
    found = asyncio.ensure_future(fleet.scene.found.wait())
    await asyncio.wait({play, found}, return_when=asyncio.FIRST_COMPLETED)
    for task in (play, found):
        task.cancel()
    if play.done() and not play.cancelled() and (error := play.exception()) is not None:
        fleet.scene.wrong("the play itself ends", f"{type(error).__name__}: {error}")
        raise error


class _OutOfTime(KeyboardInterrupt):
    """Ends a handler wherever it is, and the loop; anything milder is caught by the loop, or by what it runs."""


@contextmanager
def livelocks(simulation: Simulation, scene: Scene, turns_max: int) -> Iterator[None]:
    """Detects livelocks, by turns of the loop or processor time."""
    simulation.loop.allow(turns_max)
    late = False

    def end(*_: object) -> None:
        nonlocal late
        if late:
            raise _OutOfTime
        late = True
        simulation.loop.allow(0)

    timed = threading.current_thread() is threading.main_thread()  # signals can only be handled there
    former = signal.signal(signal.SIGPROF, end) if timed else None
    try:
        if timed:
            signal.setitimer(signal.ITIMER_PROF, CPU_MAX_S, HANDLER_MAX_S)
        yield
    except (BusyError, _OutOfTime):
        how = f"{CPU_MAX_S:g} s of the processor" if late else f"{turns_max} turns"
        scene.wrong("nobody is busy for ever", f"{how}, and only {simulation.loop.time():.3f} virtual seconds are over")
    finally:
        if timed:
            signal.setitimer(signal.ITIMER_PROF, 0.0)
            signal.signal(signal.SIGPROF, former)


def crash_of(logged: Sequence[Mapping[str, Any]]) -> str:
    """Which actor has crashed that should not have, and where; empty if none."""
    for line in logged:
        wanted = line["event"] == "actor.crashed" and line["reason"].endswith(POISON)
        if line["event"] in ("actor.crashed", "supervisor.crashed", "agent.close_failed") and not wanted:
            return f"{line.get('role', '')} {line.get('reason', '')}\n{line.get('traceback', '')}"
    return ""
