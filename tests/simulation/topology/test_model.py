"""A model check: random small worlds in which everything fails, and planted bugs that it must find."""

import pytest

from callboard.testing.simulation.planted import planted
from callboard.testing.simulation.planted.topology.cluster_fold import BUGS
from callboard.testing.simulation.topology.oracle import Oracle, leader
from tests.simulation.topology.model import PLANS, Member, World, first_failure

SEEDS, TICKS = 30, 1_200
"""Two minutes of each world: a member is paused or cut off, restarts or leaves every few seconds."""


@pytest.mark.parametrize("name", PLANS)
def test_no_seed_breaks_an_invariant_or_lets_a_former_leader_write(name: str):
    """Nor do two members believe that they lead, unless the clock of the log jumps or an operator evicts a live leader.

    To replay a failure: ``World(seed, PLANS[name]).run(1_200)``.
    """
    assert first_failure(PLANS[name], range(SEEDS), TICKS) is None


def test_the_worlds_are_eventful():
    worlds = [World(seed, PLANS["calm"]) for seed in range(10)]
    for world in worlds:
        world.run(TICKS)
    assert sum(world.evictions for world in worlds) > 10
    assert sum(world.accepted for world in worlds) > 1_000
    assert sum(world.rejected for world in worlds) > 10, "writes of former leaders arrive late"
    assert sum(len({state.view.leader_epoch for state in world.states}) for world in worlds) > 30


def test_the_resource_alone_finds_a_token_that_outlives_its_leader(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(Oracle, "see", lambda *_: None)
    assert first_failure(PLANS["calm"], range(5), TICKS) is None
    with planted("the token outlives the leader"):
        found = first_failure(PLANS["calm"], range(60), TICKS)
    assert found is not None
    assert "wrote" in found[1]


def test_members_that_believe_the_view_without_a_lease_of_their_own_lead_twice(monkeypatch: pytest.MonkeyPatch):
    def believes(world: World, member: Member) -> bool:
        state = world.states[member.position]
        return state.view.settled == state.view.epoch and leader(state) == member.name

    monkeypatch.setattr(World, "believes", believes)
    found = first_failure(PLANS["calm"], range(60), TICKS)
    assert found is not None
    assert found[1] == "two members believe that they lead", "and yet no write of a former leader is accepted"


PLAN_OF = {
    "gaps count in full": "jumps of the log's clock, and evictions by command",
    "time goes by the last writer": "writers whose clocks differ",
}
"""The plan that finds a bug, if it is another one than the calm one."""


@pytest.mark.parametrize("bug", [bug.name for bug in BUGS])
def test_it_finds_a_planted_bug(bug: str):
    with planted(bug):
        assert first_failure(PLANS[PLAN_OF.get(bug, "calm")], range(60), TICKS) is not None
