"""What all listeners of a cluster are told: checked against the grammar of events, and against each other."""

import asyncio
import re
from collections import Counter
from dataclasses import dataclass, field
from random import Random
from typing import Any

from callboard.actors.topology.cluster_view import ClusterView
from callboard.board.member.topology_view import TopologyEvent, TopologyEventKind, TopologyView
from callboard.testing.simulation.topology.broken_rule import BrokenRule, must
from callboard.testing.simulation.topology.oracle import Life
from callboard.testing.simulation.topology.service import Service

INIT, CHANGING, CHANGED, PROPERTIES = TopologyEventKind
AFTER = {
    None: {INIT},
    INIT: {CHANGING, PROPERTIES},
    CHANGED: {CHANGING, PROPERTIES},
    PROPERTIES: {CHANGING, PROPERTIES},
    CHANGING: {CHANGED},
}
"""Which event may follow which."""

TAKES_S = (0.0, 0.0, 0.0, 0.05, 0.5, 3.0)
TAKES_LONG_S = 8.0
"""Longer than a listener is given."""

PROPERTY = re.compile(r"[A-Za-z0-9._-]+")


@dataclass(slots=True)
class Parting:
    """A member that is gone since ``epoch``, and what it had written while it stood: offsets of the stream."""

    epoch: int
    written: tuple[int, ...]


class Audience:
    """The services that run, and what each may rely on. ``broken`` are the rules that were broken in a listener."""

    def __init__(self, count: Counter[str]) -> None:
        self.count = count
        self.services: list[Listened] = []
        self.broken: list[BrokenRule] = []
        self.written: dict[Life, list[int]] = {}
        """Of each life, offsets of what it wrote to the stream while it stood."""
        self.partings: dict[tuple[str, Life], Parting] = {}
        self._shown: dict[tuple[str, int], Any] = {}

    def check_barrier(self, by: Life, view: TopologyView) -> None:
        """Before a view is told, every member has stopped acting by the former one."""
        cluster = view.local_cluster
        its = {(each.instance, each.incarnation) for each in cluster.instances}
        for service in self.services:
            if service.settings.life not in its:
                continue
            for hearing in service.hearings:
                acts = hearing.acts_by
                if hearing.critical and acts is not None and acts.log_id == cluster.log_id:
                    story = f"{by} is told {view.epoch}, and {service.settings.life} acts by {acts.epoch}"
                    must(acts.epoch >= view.epoch, "no view is told before all have stopped acting by the last", story)

    def check_same(self, view: TopologyView) -> None:
        """Views of one epoch have the same members, in the same order, with the same leader."""
        known = self._shown.setdefault((view.local_cluster.log_id, view.epoch), shape(view))
        must(known == shape(view), "views of one epoch are equal", f"{known} and {shape(view)}")


class Listened(Service):
    """A service with listeners. ``has_read`` is up to where it has read the stream."""

    hearings: "list[Hearing]"
    has_read: int


@dataclass(eq=False)
class Hearing:
    """One listener: it takes its time, fails at times, and checks what it is told."""

    service: Listened
    audience: Audience
    rng: Random
    critical: bool = True
    last: TopologyEvent | None = None
    acts_by: ClusterView | None = field(default=None)
    """The view that it may act by."""

    async def hear(self, event: TopologyEvent) -> None:
        """Be told."""
        self.audience.count[event.kind.value] += 1
        try:
            self._check(event)
        except BrokenRule as broken:
            self.audience.broken.append(broken)
        self.last = event
        if event.new is not None:
            self.acts_by = event.new.local_cluster
        try:
            if self.rng.random() < 0.01:
                self.audience.count["listeners too late"] += 1
                await asyncio.sleep(TAKES_LONG_S)
            if takes_s := self.rng.choice(TAKES_S):
                await asyncio.sleep(takes_s)
            if self.rng.random() < 0.05:
                self.audience.count["listeners failed"] += 1
                raise ValueError("this listener fails")
        finally:
            if event.kind is CHANGING:
                self.acts_by = None

    def has_heard(self, epoch: int) -> bool:
        """Whether it was told this view, as the last thing."""
        told = self.last.new if self.last is not None else None
        return told is not None and told.epoch == epoch and told.is_current

    def _check(self, event: TopologyEvent) -> None:
        last, new, life = self.last, event.new, self.service.settings.life
        story = f"{life} is told {event.kind} after {last.kind if last else None}"
        must(event.kind in AFTER[last.kind if last else None], "listeners are told by the grammar", story)
        before = None if last is None else last.new or last.old
        must(event.old is before, "an event goes on from the one before", story)
        if event.old is not None:
            over = not event.old.is_current and event.old.leader is None
            must(over, "a view that is over is not current, and names no leader", story)
        if new is None:
            return
        self._structure(new)
        self.audience.check_same(new)
        if event.old is not None and event.old.local_cluster.log_id == new.local_cluster.log_id:
            _continues(event.old, new, story)
        if event.kind is PROPERTIES:
            assert event.old is not None
            same = shape(event.old) == shape(new) and event.old.epoch == new.epoch
            must(same, "only properties differ", story)  # and they may have changed back since, too
        elif not new.local_cluster.degraded:
            self.audience.check_barrier(life, new)
            self._check_backlog(event.old, new)

    def _structure(self, view: TopologyView) -> None:
        cluster, life = view.local_cluster, self.service.settings.life
        ids = [each.instance for each in view.instances]
        local = [(each.instance, each.incarnation) for each in cluster.instances if each.is_local]
        leaders = [each for each in cluster.instances if each.is_leader]
        joins = [each.join_offset for each in cluster.instances]
        names = [name for each in view.instances for name in each.properties]
        must(local == [life], "a view has one local instance, its own", f"{life} has {local}")
        must(len(set(ids)) == len(ids), "no instance is listed twice", ids)
        must(view.is_current and [view.leader] == leaders, "a current view has one leader", leaders)
        must(joins == sorted(joins), "the order is that of the joins", joins)
        must(all(PROPERTY.fullmatch(name) for name in names), "properties have proper names", names)
        must(view.find(lambda _: True) == view.instances, "all instances are found", ids)

    def _check_backlog(self, old: TopologyView | None, new: TopologyView) -> None:
        """What departed members wrote was read; what they wrote before this one joined, need not."""
        mine = new.local_instance.join_offset
        since = old.epoch if old is not None and old.local_cluster.log_id == new.local_cluster.log_id else mine
        for (log_id, life), parting in self.audience.partings.items():
            if log_id == new.local_cluster.log_id and max(since, mine) < parting.epoch <= new.epoch:
                self.audience.count["backlogs read"] += bool(parting.written)
                story = f"{self.service.settings.life} has read to {self.service.has_read}, {life} wrote {parting}"
                must(
                    all(offset < self.service.has_read for offset in parting.written),
                    "what departed members wrote is read first", story,
                )  # fmt: skip


def shape(view: TopologyView) -> Any:
    """Members, order and leader."""
    return [(it.instance, it.incarnation, it.is_leader) for it in view.local_cluster.instances]


def _continues(old: TopologyView, new: TopologyView, story: str) -> None:
    was, now = ([(it.instance, it.incarnation) for it in view.local_cluster.instances] for view in (old, new))
    stay = [life for life in was if life in now]
    must(now[: len(stay)] == stay, "those that stay keep their order, before all new ones", f"{story}: {was}, {now}")
    must(old.local_cluster.cluster_id == new.local_cluster.cluster_id, "the cluster id stays", story)
    must(old.epoch <= new.epoch, "epochs grow", f"{story}: {old.epoch}, {new.epoch}")
    must(old.epoch != new.epoch or was == now, "another membership has another epoch", story)
