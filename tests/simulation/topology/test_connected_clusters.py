"""Connected clusters see each other, whatever the graph, and forget what is gone.

Replay or extend with ``CALLBOARD_SEEDS=17`` or ``CALLBOARD_SEEDS=1000:2000``.
"""

import os

import pytest

from tests.simulation.topology.connected import KEEP_MAX_MS, TICK_MS, WAIT_MAX_MS, Connected

FIRST, _, END = os.environ.get("CALLBOARD_SEEDS", "0:24").partition(":")
SEEDS = range(int(FIRST), int(END or int(FIRST) + 1))


@pytest.mark.proves("T64", "T65", "T66", "T71", "T72")
@pytest.mark.parametrize("seed", SEEDS)
def test_after_faults_every_instance_sees_exactly_what_it_can_reach(seed):
    world = Connected(seed)
    for _ in range(world.rng.randint(3, 15)):
        world.disturb()
        world.run(world.rng.choice([2_500, 5_000, 20_000, 60_000]))
    world.run(len(world.nodes) * (KEEP_MAX_MS + WAIT_MAX_MS))
    for node in world.nodes.values():
        if node.up:
            assert node.shown() == world.expected(node), f"at {node.name}, of the links {world.links}"


@pytest.mark.parametrize("seed", SEEDS)
def test_a_change_arrives_everywhere_within_a_wait_for_each_step(seed):
    world = Connected(seed)
    world.exchange = lossless(world)
    world.run(len(world.nodes) * (KEEP_MAX_MS + WAIT_MAX_MS))
    start = world.rng.choice(list(world.nodes))
    changed = world.nodes[start].cluster
    sources = [name for name, node in world.nodes.items() if node.cluster is changed]
    changed.epoch += 1
    changed.note += 1
    away = {name: min(world.hops(source)[name] for source in sources) for name in world.nodes}
    for steps in range(1, max(away.values()) + 1):
        world.run(WAIT_MAX_MS + TICK_MS)
        for name, node in world.nodes.items():
            if node.cluster is not changed and away[name] <= steps:
                assert node.shown()[changed.name] == (changed.epoch, str(changed.note)), f"{name} after {steps} steps"


def lossless(world: Connected):
    exchange, rng = world.exchange, world.rng
    rng_random = rng.random

    def without_loss(node, connector):
        rng.random = lambda: 0.5
        exchange(node, connector)
        rng.random = rng_random

    return without_loss


def test_with_the_graph_at_rest_exchanges_become_as_rare_as_allowed():
    world = Connected(5)
    world.exchange = lossless(world)
    world.run(10 * KEEP_MAX_MS)
    links = [(node.registry.heard, each) for node in world.nodes.values() for each in node.connectors]
    waits = [each.due_ms - heard[each.source].heard_ms for heard, each in links]
    assert min(waits) > 0.9 * WAIT_MAX_MS
