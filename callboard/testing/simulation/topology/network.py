"""Connects clusters: the connectors' own code, on a network that loses and delays what they say."""

import asyncio
from collections import Counter
from collections.abc import Coroutine, Mapping, Sequence
from functools import partial
from itertools import pairwise
from random import Random
from typing import Any

from callboard.actors.topology.announcements.connector import Connector, Timing
from callboard.actors.topology.announcements.registry import Registry
from callboard.actors.topology.announcements.remote_cluster import RemoteCluster
from callboard.actors.topology.cluster_view import ClusterView
from callboard.connectors import ConnectorKey, ConnectorSettings
from callboard.connectors.http import Answer
from callboard.connectors.identity import Identity
from callboard.connectors.incoming import Incoming
from callboard.connectors.outgoing import Outgoing
from callboard.errors import Undecodable
from callboard.testing.simulation.topology.acts import Act, Rotate, Unlink
from callboard.testing.simulation.topology.broken_rule import must
from callboard.testing.simulation.topology.cluster import Member
from callboard.testing.simulation.topology.stage import Host, Stage

SETTINGS = ConnectorSettings(timing=Timing(interval_ms=2_000, timeout_ms=6_000, stable_factor=4))
KEEP_MAX_S = SETTINGS.timing.keep_ms(SETTINGS.timing.longest_ms) / 1000
"""How long an announcement is kept at the most."""

CLOCKS = 1.25
"""How much slower than one host's clock another's may be."""

TICK_S = 0.5
"""Virtual seconds between two looks at what is due."""

TRANSIT_S, LATE_S = 0.2, 8.0
"""How long a request may take: one in time, and a late one."""

FAULTS = {"in time": 85, "lost": 5, "late": 5, "without answer": 5}
"""How many of a hundred exchanges are like that."""

OLD, NEW = ConnectorKey("old", b"o" * 32), ConnectorKey("new", b"n" * 32)
ROTATION = ((OLD, NEW), (NEW, OLD), (NEW,))
ROTATE_S = 4.0
"""After each of these steps. All have done one before the next begins."""


class Node:
    """The connectors of one instance. What they know of others is lost when its process ends."""

    def __init__(self, network: "Network", name: str, host: Host) -> None:
        self.network, self.name, self.host = network, name, host
        self.calls: list[str] = []
        self.keys: tuple[ConnectorKey, ...] = (OLD,)
        self.process: Member | None = None
        self._news_s: dict[str, float] = {}
        self._exchanges: dict[Connector, asyncio.Task[bool]] = {}

    @property
    def is_up(self) -> bool:
        """Whether there is a process, which is neither suspended nor hangs."""
        is_awake = self.network.loop.time() >= self.host.awake_s and not self.host.hangs
        return is_awake and self.process is not None and self.process is self.host.process

    def use(self, keys: tuple[ConnectorKey, ...]) -> None:
        """Use these keys."""
        self.keys = keys
        self._identity.use(keys)

    def tick(self) -> None:
        """Do what is due."""
        if self.process is not self.host.process:
            self._end()
            self._start(self.host.process)
        if self.process is None or not self.is_up:
            return
        self.registry.expire(self._now_ms())
        for each, exchange in self._exchanges.items():
            each.reconsider()
            if exchange.done() and each.due_ms <= self._now_ms():
                self._exchanges[each] = self.network.begin(self._outgoing.exchange(each))
        if self.process.remote != (remote := self.registry.remote()):
            self.network.loop.call_soon(self.process.use_remote, remote)

    def _start(self, process: Member | None) -> None:
        self.process, network = process, self.network
        self.registry = Registry(self.name, lambda: process.view if process else None)
        self._identity = Identity(self.name, self.keys, network.wall_ns, network.rng.randbytes)
        self._incoming = Incoming(SETTINGS, self._identity, self.registry, lambda: None, self._now_ms)
        self._outgoing = Outgoing(self._identity, partial(network.call, self), self._now_ms)
        urls = [(f"http://{to}{SETTINGS.path}",) for to in self.calls]
        new = [Connector(each, SETTINGS.timing, self.registry, network.rng.random) for each in urls]
        self._exchanges = {each: network.begin(self._outgoing.exchange(each)) for each in new if process}
        self._epochs: dict[tuple[Any, ...], int] = {}

    def _end(self) -> None:
        for each, exchange in self._exchanges.items():
            exchange.cancel()
            if self.host.is_leaving:
                self.network.begin(self._outgoing.withdraw(each))

    def answer(self, method: str, body: bytes) -> Answer:
        """The answer to a request."""
        try:
            return Answer(*self._incoming.answer(method, SETTINGS.path, body, None), None)
        except Undecodable as error:
            return Answer(404, str(error).encode(), None)

    def news_s(self) -> dict[str, float]:
        """Of each cluster, the time of the newest announcement that this node may have heard of."""
        if self.process is not None and (view := self.process.view) is not None:
            self._news_s[view.cluster_id] = self.network.loop.time()
        return dict(self._news_s)

    def learn(self, news_s: Mapping[str, float]) -> None:
        """It may have heard of these."""
        self._news_s |= {name: max(at_s, self._news_s.get(name, 0.0)) for name, at_s in news_s.items()}

    def _now_ms(self) -> int:
        return int(self.network.loop.time() * 1000 * self.host.its.rate)

    # What must hold.

    def check(self) -> None:
        """What holds at every moment."""
        remote, view = self.registry.remote(), self.process.view if self.process else None
        mine = {each.instance for each in view.instances} if view else {self.name}
        seen = [each.instance for cluster in remote for each in cluster.instances]
        twice = len({*seen, *mine}) < len(seen) + len(mine)
        must(not twice, "no instance is in two clusters", f"{self.name} of {mine} sees {seen}")
        for cluster in remote:
            path, at = (*cluster.path, self.name), f"{self.name} sees {cluster}"
            steps = {frozenset(step) for step in pairwise(path)}
            must(len(set(path)) == len(path), "no announcement comes twice to one instance", at)
            must(steps <= self.network.links, "announcements come over connectors", at)
            must(path[0] in {each.instance for each in cluster.instances}, "members announce their cluster", at)
            must(self._was(cluster), "clusters are shown as they are, or were", at)
            late_s = self.network.loop.time() - self._news_s[cluster.cluster_id]
            most_s = len(cluster.path) * (KEEP_MAX_S * CLOCKS + LATE_S + TICK_S)
            must(late_s <= most_s, "a cluster that is gone is forgotten in time", f"{at} after {late_s:.1f} s")
        for source, heard in self.registry.heard.items():
            for own in heard.clusters[:1]:  # the neighbour's
                key = (*source, own.cluster_id, own.log_id)
                newest = self._epochs[key] = max(own.epoch, self._epochs.get(key, -1))
                at = f"{self.name} hears epoch {own.epoch} from {source} after {newest}"
                must(own.epoch == newest, "nothing is heard after what was said later", at)

    def _was(self, cluster: RemoteCluster) -> bool:
        known = self.network.witnesses[cluster.cluster_id].views.get((cluster.log_id, cluster.epoch))
        lives = tuple((each.instance, each.incarnation) for each in cluster.instances)
        return known is not None and (known[0][0].leader_epoch, known[0][1]) == (cluster.leader_epoch, lives)

    def is_agreed(self, near: Sequence["Node"]) -> bool:
        """Whether it sees exactly the clusters of those that are near, as they are."""
        views = [each.process.view for each in near if each.process is not None]
        told = {view.cluster_id: _told(view) for view in views if view is not None}
        if self.process is None or self.process.view is None:
            return False
        del told[self.process.view.cluster_id]
        return {each.cluster_id: _told(each) for each in self.process.remote} == told


class Network:
    """The members of these clusters that have connectors, and ``links``: pairs of one that calls and one called."""

    def __init__(self, stages: Sequence[Stage], links: Sequence[tuple[str, str]], seed: int) -> None:
        self._first, self.loop = stages[0], stages[0].cluster.simulation.loop
        self.witnesses = {each.cluster.settings.cluster_id: each.witness for each in stages}
        self.rng = Random(f"network/{seed}")  # noqa: S311  # reproducible, not secret
        hosts = {name: host for each in stages for name, host in each.hosts.items()}
        self.nodes = {name: Node(self, name, hosts[name]) for link in links for name in link}
        for caller, called in links:
            self.nodes[caller].calls.append(called)
        self.links = {frozenset(link) for link in links}
        self._cut: set[frozenset[str]] = set()
        self.count, self._faults = Counter[str](), FAULTS
        self._refused: list[str] = []
        self._tasks: set[asyncio.Task[Any]] = set()
        self._next_s = 0.0

    def wall_ns(self) -> int:
        """The time of day."""
        return self._first.cluster.simulation.clock.now().wall_ns

    def begin(self, work: Coroutine[Any, Any, Any]) -> asyncio.Task[Any]:
        """Do this, too."""
        task = self.loop.create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        return task

    def do(self, act: Act) -> None:
        """Carry out an act."""
        self.count[type(act).__name__] += 1
        match act:
            case Unlink(link=link, seconds=seconds):
                self._cut.add(frozenset(link))
                if seconds is not None:
                    self._first.after(seconds, partial(self._cut.discard, frozenset(link)))
            case Rotate():
                for step, keys in enumerate(ROTATION):
                    for node in self.nodes.values():
                        after_s = step * ROTATE_S + self.rng.uniform(0, ROTATE_S / 2)
                        self._first.after(after_s, partial(node.use, keys))

    def tick(self) -> None:
        """Have all nodes do what is due, and check them."""
        if self.loop.time() < self._next_s:
            return
        self._next_s = self.loop.time() + TICK_S
        for node in self.rng.sample(list(self.nodes.values()), len(self.nodes)):
            node.tick()
        for node in self._up:
            node.check()
        must(not self._refused, "requests in time are answered", self._refused)

    async def call(self, caller: Node, method: str, url: str, body: bytes) -> Answer:
        """Carry a request and its answer. Raises ``TimeoutError`` where one of them is lost."""
        other, news_s = self.nodes[url.split("/")[2]], caller.news_s()
        (fault,) = self.rng.choices(list(self._faults), list(self._faults.values()))
        self.count[f"requests {fault}"] += 1
        await asyncio.sleep(self.rng.uniform(0, TRANSIT_S))
        if fault == "late":
            self.begin(self._late(other, news_s, method, body))
        if fault in {"lost", "late"} or {caller.name, other.name} in self._cut or not other.is_up:
            raise TimeoutError
        other.learn(news_s)
        answer = other.answer(method, body)
        caller.learn(other.news_s())
        if answer.status == 404:
            self._refused.append(f"{caller.name} by {other.name}: {answer.body.decode()}")
        if fault == "without answer":
            raise TimeoutError
        return answer

    async def _late(self, other: Node, news_s: Mapping[str, float], method: str, body: bytes) -> None:
        await asyncio.sleep(self.rng.uniform(1.0, LATE_S))
        other.learn(news_s)
        self.count["requests refused late"] += other.is_up and other.answer(method, body).status == 404

    @property
    def _up(self) -> list[Node]:
        return [node for node in self.nodes.values() if node.is_up]

    def _near(self, node: Node) -> list[Node]:
        """What this node can reach, itself included."""
        up, found = {each.name for each in self._up}, {node.name}
        working = [link for link in self.links - self._cut if link <= up]
        for _ in working:
            found.update(*[link for link in working if link & found])
        return [self.nodes[name] for name in sorted(found)]

    def calm(self) -> None:
        """Lose nothing more."""
        self._faults = {"in time": 1}

    def is_agreed(self) -> bool:
        """Whether all that run see exactly the clusters that they can reach, as they are."""
        return all(node.is_agreed(self._near(node)) for node in self.nodes.values() if node.host.process is not None)


def _told(cluster: ClusterView | RemoteCluster) -> Any:
    its = [(it.instance, it.incarnation, it.is_leader, dict(it.properties), it.draining) for it in cluster.instances]
    return cluster.log_id, cluster.epoch, cluster.leader_epoch, cluster.settled, its
