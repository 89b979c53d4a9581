"""Whole fleets in virtual time: real decisions, real shells, simulated backends, and one seed for all faults.

``run(plan(17))`` runs the plan of seed 17. An oracle checks every transaction and every record; see ``oracle`` for the
rules, ``fates`` for the faults, and ``planted`` for the evidence that the oracle detects bugs.
"""

from functools import partial

from callboard.testing.simulation.distribution.plan import Plan, plan
from callboard.testing.simulation.distribution.run import run, run_seed
from callboard.testing.simulation.engine import campaign as engine_campaign
from callboard.testing.simulation.engine import outcome
from callboard.testing.simulation.engine import shrink as engine_shrink
from callboard.testing.simulation.engine.outcome import Violation

Campaign = engine_campaign.Campaign[Plan]
Outcome = outcome.Outcome[Plan]
campaign = partial(engine_campaign.campaign, run_seed)
shrink = partial(engine_shrink.shrink, run)

__all__ = ["Campaign", "Outcome", "Plan", "Violation", "campaign", "plan", "run", "run_seed", "shrink"]
