"""Runs the plan of a cluster, and reports the outcome."""

import time
from collections import Counter
from contextlib import nullcontext

from structlog.testing import capture_logs

from callboard.actors.runtime.simulated.virtual_loop import BusyError, StuckError
from callboard.testing.simulation.engine.outcome import Outcome, Violation
from callboard.testing.simulation.planted import planted
from callboard.testing.simulation.topology.broken_rule import BrokenRule
from callboard.testing.simulation.topology.cluster import Cluster
from callboard.testing.simulation.topology.plan import CONFIGURATIONS, ClusterPlan, plan
from callboard.testing.simulation.topology.scene import Scene
from callboard.testing.simulation.topology.stage import settings

TURNS_MAX = 400_000
"""Limit of loop turns in one simulation: more are a sign of a livelock."""

CONTROLS = (
    "JoinMessage", "RenewMessage", "PropertiesMessage", "LeaveMessage", "ProposeMessage", "AckMessage",
    "SuspectMessage", "LeaderMessage", "SnapshotMessage", "EvictCommand", "DrainCommand", "TransferCommand",
    "FreezeCommand", "ClusterSettings",
)  # fmt: skip
"""Accepted messages and commands."""

REFUSALS = (
    "unchanged", "duplicate", "not_a_member", "other_incarnation", "duplicate_id", "gone", "outdated", "lease_runs",
    "ack_not_due", "over_budget", "not_leading", "frozen", "draining",
)  # fmt: skip
"""Why messages are refused. The rest is refused by unit tests: what is damaged, too new or too much."""

COUNTED = (
    *CONFIGURATIONS, "Describe", "Configure",
    "Crash", "Leave", "Kill", "Pause", "Hang", "Mute", "CutOff", "Slow", "Repeat", "Twin", "Unlink", "Rotate",
    "Command", "Freeze", "Outage", "Jump", "Exchange", "views", "evicted: silent", "evicted: no_ack", "ended: evicted",
    "ended: log_replaced", "ended: duplicate_id", "two leaders", "writes accepted", "writes refused",
    "writes out of order, not fenced", *CONTROLS, *REFUSALS, "topology_init", "topology_changing", "topology_changed",
    "properties_changed", "listeners failed", "listeners too late", "backlogs read",
    "requests in time", "requests lost", "requests late", "requests without answer", "requests refused late",
)  # fmt: skip
"""Counters that must not be zero."""


def run(plan: ClusterPlan) -> Outcome[ClusterPlan]:
    """Run the plan in this thread, to its end or the first violation."""
    began_s, count, violation = time.perf_counter(), Counter({plan.called: 1}), None
    without = plan.configuration.without
    bug = planted(without) if without else nullcontext()
    with bug, capture_logs() as logged, Cluster(plan.seed, settings(plan)) as cluster:
        simulation = cluster.simulation
        simulation.loop.allow(TURNS_MAX * (1 + len(plan.others)))
        scene = Scene(plan, cluster)
        try:
            scene.play()
        except BrokenRule as broken:
            violation = Violation(broken.rule, broken.story)
        except AssertionError as error:  # of the oracle
            violation = Violation(str(error), f"after the record at offset {scene.witness.state.offset}")
        except (BusyError, StuckError) as error:
            violation = Violation("nobody is busy for ever", str(error))
        if violation is None and (crash := next((it for it in logged if it["event"] == "actor.crashed"), None)):
            violation = Violation("no actor crashes", f"{crash.get('role')} {crash.get('traceback')}")
        return Outcome(
            plan, violation, simulation.steps, simulation.trace, tuple(simulation.tail), simulation.loop.time(),
            time.perf_counter() - began_s, counts=count + scene.count,
        )  # fmt: skip


def run_seed(seed: int) -> Outcome[ClusterPlan]:
    """Run the whole plan of a seed."""
    return run(plan(seed))
