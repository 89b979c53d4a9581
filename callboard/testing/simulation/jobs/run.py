"""Runs the plan of workers and their jobs, and reports the outcome."""

import time
from collections import Counter
from contextlib import ExitStack

from structlog.testing import capture_logs

from callboard.actors.jobs.snapshots import search, taking
from callboard.actors.jobs.worker import snapshotting
from callboard.actors.runtime.simulated.simulated import Simulation
from callboard.actors.runtime.simulated.virtual_loop import BusyError, StuckError
from callboard.testing.simulation.engine.outcome import Outcome, Violation
from callboard.testing.simulation.jobs.plan import TROUBLES, JobsPlan, plan
from callboard.testing.simulation.jobs.scene import Scene
from callboard.testing.simulation.jobs.workers import Workers
from callboard.testing.simulation.planted.patch import Patch
from callboard.testing.simulation.topology.broken_rule import BrokenRule

SMALL = (
    Patch("", snapshotting, "COST_MIN", lambda _: 20_000),
    Patch("", search, "RANGE", lambda _: 5),
    Patch("", taking, "PART_BYTES", lambda _: 2_000),
    Patch("", snapshotting, "KEEP_S", lambda _: 20.0),
)
"""What makes snapshots many and small, and trims soon; a log that is exchanged is not trimmed."""

TURNS_MAX = 400_000
"""Limit of loop turns in one simulation: more are a sign of a livelock."""

COUNTED = (
    *TROUBLES, "Add", "Join", "Configure", "Suspend", "Schedule", "kill_dispatcher", "kill_reporter", "slow", "lose",
    "blind", "pause", "cut", "crash", "stop", "drop", "forget", "evict", "replace", "outage", "jump", "skew",
    "exchange", "JobsAddedMessage", "JobsLeasedMessage", "JobsEndedMessage", "WorkerMessage", "WorkerGoneMessage",
    "JobsSnapshotMessage", "refused",
    "late outcomes", *(f"ended: {state}" for state in ("SUCCEEDED", "STOPPED", "GIVEN_UP", "ERROR", "DROPPED")),
)  # fmt: skip
"""Counters that must not be zero."""


def run(plan: JobsPlan) -> Outcome[JobsPlan]:
    """Run the plan in this thread, to its end or the first violation."""
    began_s, violation = time.perf_counter(), None
    with capture_logs() as logged, Simulation(plan.seed) as simulation, ExitStack() as small:
        for patch in SMALL[: 4 if plan.is_whole else 3] if plan.snapshots else ():
            small.enter_context(patch.applied())
        simulation.loop.allow(TURNS_MAX)
        workers = Workers(simulation, plan.seed)
        scene = Scene(plan, workers)
        try:
            scene.play()
        except BrokenRule as broken:
            violation = Violation(broken.rule, broken.story)
        except (BusyError, StuckError) as error:
            violation = Violation("nobody is busy for ever", str(error))
        if crash := next((it for it in logged if it["event"] == "actor.crashed"), None):
            violation = Violation("no actor crashes", f"{crash.get('role')} {crash.get('traceback')}")
        ended = Counter(f"ended: {book.state.name}" for book in scene.witness.books.values())
        return Outcome(
            plan, violation, simulation.steps, simulation.trace, tuple(simulation.tail), simulation.loop.time(),
            time.perf_counter() - began_s, counts=workers.count + ended + Counter({plan.called: 1}),
        )  # fmt: skip


def run_seed(seed: int) -> Outcome[JobsPlan]:
    """Run the whole plan of a seed."""
    return run(plan(seed))
