"""Whole fleets in virtual time: real decisions, real shells, simulated backends, and one seed for all that goes wrong.

``run(plan(17))`` plays what seed 17 stands for. An oracle looks at every transaction and every record; see ``oracle``
for what must be so, ``fates`` for what goes wrong, and ``planted`` for how it is known that the oracle would notice.
"""

from callboard.testing.simulation.distribution.plan import Plan, plan
from callboard.testing.simulation.distribution.run import Outcome, run
from callboard.testing.simulation.distribution.scene import Violation
from callboard.testing.simulation.engine.campaign import Campaign, campaign, run_seed
from callboard.testing.simulation.engine.shrink import shrink

__all__ = ["Campaign", "Outcome", "Plan", "Violation", "campaign", "plan", "run", "run_seed", "shrink"]
