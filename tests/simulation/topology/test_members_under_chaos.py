"""Members to which everything happens at random, in virtual time, and whose clocks differ by a tenth from the log's."""

from random import Random

import pytest

from callboard.actors.topology.member.roles import PROPOSER, RENEWER, VIEW_KEEPER
from tests.simulation.topology.cluster import Cluster, Member

SECONDS = 90
FAULTS = 25
RECOVERED_WITHIN_S = 120
"""In a small cluster the budget lets two leases pass between two evictions."""


def meddle(cluster: Cluster, dice: Random) -> None:
    """Do something to one of the members."""
    member = dice.choice(cluster.members)
    what = dice.choice(["kill", "kill", "suspend", "cut", "slow", "crash", "leave", "mute"])
    cluster.simulation.note(f"{what} {member.settings.incarnation}")
    match what:
        case "kill":
            member.kill(dice.choice([VIEW_KEEPER, RENEWER, PROPOSER]))
        case "suspend":
            member.suspend(dice.choice([1, 5, 20]))
        case "cut":
            member.world.is_cut = not member.world.is_cut
        case "slow":
            member.world.append_s = dice.choice([0, 0.5, 4])
        case "mute":
            member.acknowledges = not member.acknowledges
        case "crash":
            member.crash()
            cluster.started.remove(member)
            replace(cluster, member, previous=dice.choice(["", member.settings.incarnation]))
        case "leave":
            member.start_leaving()
            replace(cluster, member)


def replace(cluster: Cluster, member: Member, previous: str = "") -> None:
    cluster.members.remove(member)
    life = f"{member.settings.instance}-{cluster.simulation.steps}"
    cluster.start(member.settings.instance, life, rate=member.clock.rate, previous=previous)


@pytest.mark.parametrize("seed", range(6))
def test_no_two_lead_at_once_and_in_the_end_all_agree(seed: int) -> None:
    with Cluster(seed, log_rate=1.1) as cluster:
        dice = Random(seed)
        for name in "abcd":
            cluster.start(name, rate=dice.uniform(1.0, 1.2))
        for step in range(SECONDS * 10):
            if step and step % (SECONDS * 10 // FAULTS) == 0:
                meddle(cluster, dice)
            cluster.pass_s(0.1)
            leaders = [member.settings.incarnation for member in cluster.started if member.leads]
            assert len(leaders) < 2, f"{leaders} lead, seed {seed}, {step / 10} s"

        for member in cluster.members:
            member.world.is_cut, member.world.append_s, member.acknowledges = False, 0.0, True
        for _ in range(RECOVERED_WITHIN_S):
            cluster.pass_s(1)
            for member in [each for each in cluster.members if each.problem and each.problem.is_final]:
                replace(cluster, member)
        orders = {member.order if member.is_settled else "not settled" for member in cluster.members}
        assert [sorted(order.split()) for order in orders] == [["a", "b", "c", "d"]]
        assert sum(member.leads for member in cluster.members) == 1
