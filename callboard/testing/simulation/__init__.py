"""Whole fleets in virtual time: real decisions, real shells, simulated backends, and one seed for all that goes wrong.

``run(plan(17))`` plays what seed 17 stands for. An oracle looks at every transaction and every record; see ``oracle``
for what must be so, ``fates`` for what goes wrong, and ``planted`` for how it is known that the oracle would notice.
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
