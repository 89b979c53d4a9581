"""Clusters that are connected in a random graph, in virtual time: instances crash and restart, and links break."""

from collections import deque
from random import Random

from callboard.actors.topology.announcements.connector import Connector, Timing
from callboard.actors.topology.announcements.registry import Registry, Source
from callboard.actors.topology.cluster_view import ClusterView, Instance
from callboard.messages.event import replaced
from callboard.messages.topology.cluster_state import Health
from callboard.messages.topology.connector_limits import check_announcement

TIMING = Timing(interval_ms=5_000, timeout_ms=15_000, stable_factor=4)
WAIT_MAX_MS = TIMING.interval_ms * TIMING.stable_factor
KEEP_MAX_MS = TIMING.keep_ms(WAIT_MAX_MS)
TICK_MS = 2_500


class Cluster:
    """A cluster and its view; members see the same one at the same time."""

    def __init__(self, name: str, members: list[str]) -> None:
        self.name, self.members, self.epoch, self.note = name, members, 1, 0

    def view(self, me: str) -> ClusterView:
        return ClusterView(
            cluster_id=self.name, log_id=f"log-{self.name}", epoch=self.epoch, leader_epoch=1, settled=True,
            degraded=False, frozen=False, instances=tuple(self.instance(each, me) for each in self.members),
        )  # fmt: skip

    def instance(self, name: str, me: str) -> Instance:
        return Instance(
            instance=name, incarnation="1", is_leader=name == self.members[0], is_local=name == me, join_offset=1,
            priority=0, tags=frozenset(), properties={"note": str(self.note)}, draining=False, suspected_by=(),
            silent_ms=0, health=Health.GOOD, load_permille=0,
        )  # fmt: skip


class Node:
    """One member with its connectors. What it knows of others is lost when it restarts."""

    def __init__(self, name: str, cluster: Cluster, rng: Random) -> None:
        self.name, self.cluster, self.rng, self.calls, self.up = name, cluster, rng, list[str](), True
        self.start()

    def start(self) -> None:
        self.registry = Registry(self.name, lambda: self.cluster.view(self.name))
        self.connectors = [Connector((to,), TIMING, self.registry, self.rng.random) for to in self.calls]

    def shown(self) -> dict[str, tuple[int, str]]:
        """Of every other cluster, its epoch and the note that its members have as a property."""
        return {each.cluster_id: (each.epoch, each.instances[0].properties["note"]) for each in self.registry.remote()}


class Connected:
    """The graph. ``cut`` holds the links that are down."""

    def __init__(self, seed: int) -> None:
        self.rng, self.now_ms, self.cut = Random(seed), 0, set[frozenset[str]]()
        self.nodes: dict[str, Node] = {}
        for index in range(self.rng.randint(2, 8)):
            name = f"c{index}"
            cluster = Cluster(name, [f"{name}-{member}" for member in range(self.rng.randint(1, 3))])
            for member in cluster.members[: self.rng.randint(1, 2)]:
                self.nodes[member] = Node(member, cluster, self.rng)
        self.links = self.graph(list(self.nodes))
        for link in self.links:
            one, other = self.rng.sample(sorted(link), 2)
            self.nodes[one].calls.append(other)
            if self.rng.random() < 0.2:
                self.nodes[other].calls.append(one)
        for node in self.nodes.values():
            node.start()

    def graph(self, names: list[str]) -> list[frozenset[str]]:
        """A chain, star, random tree or ring, and sometimes more links. Members of one cluster may be linked."""
        shape = self.rng.choice(["chain", "star", "tree", "ring"])
        before = {"chain": lambda i: i - 1, "star": lambda _: 0, "tree": self.rng.randrange, "ring": lambda i: i - 1}
        pairs = [(names[before[shape](i)], names[i]) for i in range(1, len(names))]
        if shape == "ring" and len(names) > 2:
            pairs.append((names[-1], names[0]))
        pairs += [tuple(self.rng.sample(names, 2)) for _ in range(self.rng.choice([0, 0, 1, 3]))]
        return sorted({frozenset(pair) for pair in pairs}, key=sorted)

    def run(self, for_ms: int) -> None:
        for _ in range(for_ms // TICK_MS):
            self.now_ms += TICK_MS
            for node in self.rng.sample(list(self.nodes.values()), len(self.nodes)):
                if node.up:
                    self.act(node)
            self.check()

    def act(self, node: Node) -> None:
        node.registry.expire(self.now_ms)
        for connector in node.connectors:
            connector.reconsider()
            if connector.due_ms <= self.now_ms:
                self.exchange(node, connector)

    def exchange(self, node: Node, connector: Connector) -> None:
        (url,) = connector.urls
        other = self.nodes[url]
        said = connector.request(other.name, self.now_ms)
        if not other.up or frozenset((node.name, url)) in self.cut or said is None:
            connector.failed("no answer", self.now_ms)
            return
        check_announcement(said, node.name)
        other.registry.hear(Source(node.name, answered=False), said, self.now_ms)
        answer = replaced(said, clusters=other.registry.said_to(node.name))
        if self.rng.random() < 0.02:
            connector.failed("the answer was lost", self.now_ms)
            return
        check_announcement(answer, other.name)
        connector.answered(url, other.name, said, answer, self.now_ms)

    def stop(self, node: Node) -> None:
        """An orderly end: the neighbours are told where they can be reached."""
        for url in node.calls:
            if frozenset((node.name, url)) not in self.cut:
                self.nodes[url].registry.forget(Source(node.name, answered=False))
        node.up = False

    def disturb(self) -> None:
        """One random fault, or the end of one."""
        node = self.rng.choice(list(self.nodes.values()))
        match self.rng.choice(["crash", "stop", "start", "start", "cut", "heal", "epoch", "note"]):
            case "crash":
                node.up = False
            case "stop":
                self.stop(node)
            case "start" if not node.up:
                node.up = True
                node.start()
            case "cut":
                self.cut.add(self.rng.choice(self.links))
            case "heal":
                self.cut.clear()
            case "epoch":
                node.cluster.epoch += 1
            case "note":
                node.cluster.note += 1

    def check(self) -> None:
        """What holds at every moment, at every node."""
        for node in self.nodes.values():
            seen = [each.instance for cluster in node.registry.remote() for each in cluster.instances]
            assert len(set(seen)) == len(seen), f"{node.name} lists an instance twice: {seen}"
            assert not set(seen) & set(node.cluster.members), f"{node.name} sees members of its own cluster as remote"

    def hops(self, start: str) -> dict[str, int]:
        """How far each node that is up is from this one."""
        found, queue = {start: 0}, deque([start])
        while queue:
            at = queue.popleft()
            for link in self.links:
                if at in link and link not in self.cut:
                    (to,) = link - {at}
                    if to not in found and self.nodes[to].up:
                        found[to] = found[at] + 1
                        queue.append(to)
        return found

    def expected(self, node: Node) -> dict[str, tuple[int, str]]:
        """What the node has to see in the end: the clusters that it can reach."""
        near = [self.nodes[name].cluster for name in self.hops(node.name)]
        return {each.name: (each.epoch, str(each.note)) for each in near if each is not node.cluster}
