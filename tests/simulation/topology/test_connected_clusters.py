"""Connected clusters see each other, whatever the graph, and forget what is gone.

More seeds: ``callboard simulate --clusters --seeds 2000``; a quarter of them has several clusters.
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace

import pytest

from callboard.testing.simulation.topology.cluster import Cluster, Member
from callboard.testing.simulation.topology.network import CLOCKS, SETTINGS, TICK_S, TRANSIT_S
from callboard.testing.simulation.topology.plan import plan
from callboard.testing.simulation.topology.run import run_seed
from callboard.testing.simulation.topology.scene import Scene
from callboard.testing.simulation.topology.stage import settings

CONNECTED = [seed for seed in range(32) if plan(seed).links]
WAIT_MAX_S = SETTINGS.timing.longest_ms / 1000
STEP_S = WAIT_MAX_S * CLOCKS + TRANSIT_S + 2 * TICK_S


@contextmanager
def at_rest(seed: int) -> Iterator[Scene]:
    """The clusters of a seed, to which nothing happens, once all of them know each other."""
    its = replace(plan(seed), acts=(), hasty=False)
    with Cluster(seed, settings(its)) as first:
        scene = Scene(its, first)
        scene.network.calm()
        until(scene, scene.is_agreed, 100)
        yield scene


def until(scene: Scene, condition: Callable[[], bool], within_s: float) -> None:
    end_s = scene.witness.now_s + within_s
    while not condition():
        assert scene.witness.now_s < end_s
        scene.step()


@pytest.mark.proves("T64", "T65", "T66", "T71", "T72")
@pytest.mark.parametrize("seed", CONNECTED)
def test_after_faults_every_instance_sees_exactly_what_it_can_reach(seed: int) -> None:
    outcome = run_seed(seed)
    assert outcome.violation is None, outcome.story


@pytest.mark.parametrize("seed", CONNECTED[:4])
def test_a_change_arrives_everywhere_within_a_wait_for_each_step(seed: int) -> None:
    with at_rest(seed) as scene:
        changed, nodes = scene.stages[-1], scene.network.nodes
        changed.alive[0].describe("purple")
        until(scene, lambda: all(is_purple(each) for each in changed.alive), 10)
        arrived = {name for name in nodes if name in changed.hosts}
        while len(arrived) < len(nodes):
            step_s = scene.witness.now_s + STEP_S
            until(scene, lambda: scene.witness.now_s >= step_s, 2 * STEP_S)  # noqa: B023 - called in this round
            arrived |= {name for link in scene.network.links if link & arrived for name in link}
            assert all(is_purple(nodes[name].process) for name in arrived)


def is_purple(member: Member) -> bool:
    """Whether it sees the changed property."""
    seen = [it for cluster in (member.view, *member.remote) for it in cluster.instances]
    return any(it.properties.get("colour") == "purple" for it in seen)


def test_with_the_graph_at_rest_exchanges_become_as_rare_as_allowed() -> None:
    with at_rest(CONNECTED[0]) as scene:
        end_s = scene.witness.now_s + 60
        until(scene, lambda: scene.witness.now_s >= end_s, 61)
        connectors = sum(len(it.calls) for it in scene.network.nodes.values())
        before = scene.network.count["requests in time"]
        until(scene, lambda: scene.witness.now_s >= end_s + 10 * WAIT_MAX_S, 100)
        assert scene.network.count["requests in time"] - before <= connectors * 10 * CLOCKS
