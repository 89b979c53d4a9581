"""All clusters of a plan, from the beginning to their agreement."""

from collections import Counter
from dataclasses import replace
from random import Random
from typing import TYPE_CHECKING

from callboard.testing.simulation.topology.acts import Act, Rotate, ToMember, Unlink
from callboard.testing.simulation.topology.broken_rule import must
from callboard.testing.simulation.topology.cluster import Cluster
from callboard.testing.simulation.topology.plan import CHAOS_S, ClusterPlan
from callboard.testing.simulation.topology.stage import Stage, settings
from callboard.testing.simulation.topology.witness import LOOK_S, Witness

if TYPE_CHECKING:
    from callboard.testing.simulation.topology.network import Network

AGREED_WITHIN_S = 150.0
"""After the calm begins. In a small cluster the budget lets two leases pass between two evictions."""

STEADY_S = 15.0
"""How long an agreed view must stay: longer than a lease."""


class Scene:
    """All clusters of a plan, the first one with all that can happen, and the network that connects them, if any."""

    def __init__(self, plan: ClusterPlan, first: Cluster) -> None:
        self.acts = list(plan.acts)
        self.stages = [_stage(first, plan)]
        for cluster_id, members in zip(("green", "red"), plan.others, strict=False):
            cluster = Cluster(plan.seed, settings(plan, cluster_id), first.simulation)
            self.stages.append(_stage(cluster, replace(plan, members=members, hasty=False)))
        self.witness = self.stages[0].witness
        self.network = self._network(plan)

    def _network(self, plan: ClusterPlan) -> "Network | None":
        if not plan.links:
            return None
        from callboard.testing.simulation.topology.network import Network  # needs the extra of connectors

        return Network(self.stages, plan.links, plan.seed)

    @property
    def count(self) -> Counter[str]:
        """How often what happened."""
        counters = [count for stage in self.stages for count in (stage.count, stage.witness.count)]
        return sum(counters, self.network.count.copy() if self.network is not None else Counter())

    def play(self) -> None:
        """Play it all, and see that what is left alone agrees."""
        while self.witness.now_s < CHAOS_S:
            while self.acts and self.acts[0].at_s <= self.witness.now_s:
                self._do(self.acts.pop(0))
            self.step()
        for stage in self.stages:
            stage.calm()
        if self.network is not None:
            self.network.calm()
        self._settle()

    def _do(self, act: Act) -> None:
        if isinstance(act, Unlink | Rotate) and self.network is not None:
            self.network.do(act)
            return
        theirs = [each for each in self.stages if isinstance(act, ToMember) and act.instance in each.hosts]
        (theirs or self.stages)[0].do(act)

    def step(self) -> None:
        """Let a little time pass, and look."""
        for stage in self.stages:
            stage.tick()
        self.stages[0].cluster.pass_s(LOOK_S)
        for stage in self.stages:
            stage.witness.look()
        if self.network is not None:
            self.network.tick()

    def is_agreed(self) -> bool:
        """Whether each cluster agrees on its members, and all that are connected see the clusters in reach."""
        agreed = all(stage.witness.is_agreed(stage.alive) for stage in self.stages)
        return agreed and (self.network is None or self.network.is_agreed())

    def _settle(self) -> None:
        """Left alone, all that run agree, and then nothing changes any more."""
        until_s, steady_s, epochs = self.witness.now_s + AGREED_WITHIN_S, 0.0, tuple[int, ...]()
        while steady_s < STEADY_S:
            states = [stage.witness.state for stage in self.stages]
            problems = [(it.settings.incarnation, it.news.problem) for stage in self.stages for it in stage.alive]
            story = f"{[(state.view, state.members) for state in states]}; {problems}"
            must(self.witness.now_s < until_s, "a cluster left alone agrees and stays so", story)
            self.step()
            now = tuple(stage.witness.state.view.epoch for stage in self.stages)
            steady = self.is_agreed() and epochs in ((), now)
            steady_s, epochs = (steady_s + LOOK_S, now) if steady else (0.0, ())


def _stage(cluster: Cluster, plan: ClusterPlan) -> Stage:
    writes = Random(f"writes/{plan.seed}")  # noqa: S311  # reproducible, not secret
    return Stage(cluster, plan, Witness(cluster, plan.configuration, writes))
