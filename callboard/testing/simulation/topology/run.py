"""Runs the plan of a cluster, and reports the outcome."""

import time
from collections import Counter
from contextlib import nullcontext
from random import Random

from structlog.testing import capture_logs

from callboard.actors.runtime.simulated.virtual_loop import BusyError, StuckError
from callboard.testing.simulation.engine.outcome import Outcome, Violation
from callboard.testing.simulation.planted import planted
from callboard.testing.simulation.topology.broken_rule import BrokenRule, must
from callboard.testing.simulation.topology.cluster import Cluster
from callboard.testing.simulation.topology.plan import CHAOS_S, CONFIGURATIONS, ClusterPlan, plan
from callboard.testing.simulation.topology.stage import Stage, settings
from callboard.testing.simulation.topology.witness import LOOK_S, Witness

AGREED_WITHIN_S = 150.0
"""After the calm begins. In a small cluster the budget lets two leases pass between two evictions."""

STEADY_S = 15.0
"""How long an agreed view must stay: longer than a lease."""

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
    "Crash", "Leave", "Kill", "Pause", "Hang", "Mute", "CutOff", "Slow", "Repeat", "Twin", "Command", "Freeze",
    "Outage", "Jump", "Exchange", "views", "evicted: silent", "evicted: no_ack", "ended: evicted",
    "ended: log_replaced", "ended: duplicate_id", "two leaders", "writes accepted", "writes refused",
    "writes out of order, not fenced", *CONTROLS, *REFUSALS, "topology_init", "topology_changing", "topology_changed",
    "properties_changed", "listeners failed", "listeners too late", "backlogs read",
)  # fmt: skip
"""Counters that must not be zero."""


def run(plan: ClusterPlan) -> Outcome[ClusterPlan]:
    """Run the plan in this thread, to its end or the first violation."""
    began_s, count, violation = time.perf_counter(), Counter({plan.called: 1}), None
    without = plan.configuration.without
    bug = planted(without) if without else nullcontext()
    with bug, capture_logs() as logged, Cluster(plan.seed, settings(plan)) as cluster:
        simulation = cluster.simulation
        simulation.loop.allow(TURNS_MAX)
        writes = Random(f"writes/{plan.seed}")  # noqa: S311  # reproducible, not secret
        witness = Witness(cluster, plan.configuration, writes)
        try:
            stage = Stage(cluster, plan, witness)
            _play(stage)
            count += stage.count
        except BrokenRule as broken:
            violation = Violation(broken.rule, broken.story)
        except AssertionError as error:  # of the oracle
            violation = Violation(str(error), f"after the record at offset {witness.state.offset}")
        except (BusyError, StuckError) as error:
            violation = Violation("nobody is busy for ever", str(error))
        if violation is None and (crash := next((it for it in logged if it["event"] == "actor.crashed"), None)):
            violation = Violation("no actor crashes", f"{crash.get('role')} {crash.get('traceback')}")
        return Outcome(
            plan, violation, simulation.steps, simulation.trace, tuple(simulation.tail), simulation.loop.time(),
            time.perf_counter() - began_s, counts=count + witness.count,
        )  # fmt: skip


def run_seed(seed: int) -> Outcome[ClusterPlan]:
    """Run the whole plan of a seed."""
    return run(plan(seed))


def _play(stage: Stage) -> None:
    acts = list(stage.plan.acts)
    while stage.witness.now_s < CHAOS_S:
        while acts and acts[0].at_s <= stage.witness.now_s:
            stage.do(acts.pop(0))
        _pass(stage)
    stage.calm()
    _settle(stage)


def _pass(stage: Stage) -> None:
    stage.tick()
    stage.cluster.pass_s(LOOK_S)
    stage.witness.look()


def _settle(stage: Stage) -> None:
    """Left alone, all that run agree, and then nothing changes any more."""
    witness = stage.witness
    until_s, steady_s, epoch = witness.now_s + AGREED_WITHIN_S, 0.0, -1
    while steady_s < STEADY_S:
        state = witness.state
        story = f"{state.view}, {state.members}; {[(it.settings.incarnation, it.news.problem) for it in stage.alive]}"
        must(witness.now_s < until_s, "a cluster left alone agrees and stays so", story)
        _pass(stage)
        steady = witness.is_agreed(stage.alive) and epoch in (-1, state.view.epoch)
        steady_s = steady_s + LOOK_S if steady else 0.0
        epoch = state.view.epoch if steady else -1
