"""What an instance knows of other clusters: the last announcement of each neighbour, until it expires.

Announcements have no loops by construction. Each one lists the instances that passed it on, and an instance ignores
what it passed on itself. So connectors may form any graph, and a cluster that is gone cannot be kept alive by others
who tell each other of it.
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from types import MappingProxyType
from typing import NamedTuple

from callboard.actors.topology.announcements.remote_cluster import RemoteCluster, RemoteInstance
from callboard.actors.topology.cluster_view import ClusterView, Instance
from callboard.messages.event import replaced
from callboard.messages.topology.connector_limits import CLUSTERS_MAX, INSTANCES_MAX, PATH_MAX
from callboard.messages.topology.connector_messages import AnnouncedCluster, AnnouncedInstance, Announcement

Clusters = tuple[AnnouncedCluster, ...]

NEIGHBOURS_MAX = 1000
"""Neighbours of one process: everything that each of them announced is kept."""


class Source(NamedTuple):
    """Where an announcement came from: the request of a neighbour, or the answer that a connector got (``answered``).

    ``name`` is the neighbour's instance, or the connector's first URL. Two instances may have connectors to each other:
    they are renewed, and end, independently.
    """

    name: str
    answered: bool


@dataclass(frozen=True, slots=True)
class Heard:
    """The last announcement of a source, heard and kept until these times on the reader's monotonic clock."""

    clusters: Clusters
    heard_ms: int
    until_ms: int


class Registry:
    """The announcements of all neighbours of the instance ``me``."""

    def __init__(self, me: str, local: Callable[[], ClusterView | None]) -> None:
        self.heard: dict[Source, Heard] = {}
        self._me = me
        self._local = local

    def hear(self, source: Source, announcement: Announcement, now_ms: int) -> bool:
        """Keep an announcement in place of the source's last one; returns whether the clusters in it are others.

        A new neighbour is ignored if there are too many.
        """
        if source not in self.heard and len(self.heard) >= NEIGHBOURS_MAX:
            return False
        kept = tuple(each for each in announcement.clusters if self._me not in each.path)
        before = self.heard.get(source)
        self.heard[source] = Heard(kept, now_ms, now_ms + announcement.keep_ms)
        return before is None or before.clusters != kept

    def forget(self, source: Source) -> bool:
        """Drop the source's announcement; returns whether there was one."""
        return self.heard.pop(source, None) is not None

    def expire(self, now_ms: int) -> bool:
        """Drop what was not renewed in time; returns whether there was anything."""
        late = [source for source, heard in self.heard.items() if heard.until_ms <= now_ms]
        for source in late:
            del self.heard[source]
        return bool(late)

    def announced(self) -> Clusters:
        """The known clusters without the local one, each once, nearest first; no instance is in two of them.

        Of the announcements of one cluster the newest counts, then the one over fewest steps. A cluster that shares an
        instance with the local cluster or a nearer one is left out whole.
        """
        local = self._local()
        own = (local.cluster_id, local.log_id) if local else None
        newest: dict[tuple[str, str], AnnouncedCluster] = {}
        for cluster in sorted((each for heard in self.heard.values() for each in heard.clusters), key=_age):
            newest.setdefault((cluster.cluster_id, cluster.log_id), cluster)
        taken = {self._me, *(each.instance for each in local.instances)} if local else {self._me}
        kept = []
        for identity, cluster in sorted(newest.items(), key=lambda item: _distance(item[1])):
            instances = {each.instance for each in cluster.instances}
            if identity != own and taken.isdisjoint(instances):
                taken |= instances
                kept.append(cluster)
        return tuple(kept)

    def is_spare(self, source: Source) -> bool:
        """Whether nothing would be missing without this source: all that it announced is known by others as well."""
        used = set(map(id, self.announced()))
        return source in self.heard and not any(id(each) in used for each in self.heard[source].clusters)

    def remote(self) -> tuple[RemoteCluster, ...]:
        """The same, as values for the service, ordered by cluster id."""
        return tuple(map(_remote, sorted(self.announced(), key=lambda each: (each.cluster_id, each.log_id))))

    def said_to(self, neighbour: str) -> Clusters | None:
        """What to announce to a neighbour: the local cluster, and what others than it announced, nearest first.

        Empty for an unknown neighbour, and None while this instance is not in the view of its cluster.
        """
        local = self._local()
        if local is None or not any(each.instance == self._me for each in local.instances):
            return None
        if not neighbour:
            return ()
        passed_on = [
            replaced(each, path=(*each.path, self._me))
            for each in self.announced()
            if neighbour not in each.path and len(each.path) < PATH_MAX
        ]
        return _fitting([_own(local, self._me), *passed_on])


def _age(cluster: AnnouncedCluster) -> tuple[object, ...]:
    """Sorts the newest announcement of a cluster first: its epochs are offsets in its log."""
    return (-cluster.epoch, *_distance(cluster))


def _distance(cluster: AnnouncedCluster) -> tuple[int, tuple[str, ...], str, str]:
    return len(cluster.path), cluster.path, cluster.cluster_id, cluster.log_id


def _fitting(clusters: Iterable[AnnouncedCluster]) -> Clusters:
    """The first clusters, up to the limits of an announcement."""
    kept: list[AnnouncedCluster] = []
    room = INSTANCES_MAX
    for cluster in clusters:
        room -= len(cluster.instances)
        if room < 0 or len(kept) == CLUSTERS_MAX:
            break
        kept.append(cluster)
    return tuple(kept)


def _own(view: ClusterView, me: str) -> AnnouncedCluster:
    return AnnouncedCluster(
        cluster_id=view.cluster_id,
        log_id=view.log_id,
        epoch=view.epoch,
        leader_epoch=view.leader_epoch,
        settled=view.settled,
        instances=tuple(map(_announced, view.instances)),
        path=(me,),
    )


def _announced(instance: Instance) -> AnnouncedInstance:
    return AnnouncedInstance(
        instance=instance.instance,
        incarnation=instance.incarnation,
        is_leader=instance.is_leader,
        tags=tuple(sorted(instance.tags)),
        properties=tuple(sorted(instance.properties.items())),
        draining=instance.draining,
    )


def _remote(cluster: AnnouncedCluster) -> RemoteCluster:
    return RemoteCluster(
        cluster_id=cluster.cluster_id,
        log_id=cluster.log_id,
        epoch=cluster.epoch,
        leader_epoch=cluster.leader_epoch,
        settled=cluster.settled,
        instances=tuple(map(_instance, cluster.instances)),
        path=cluster.path,
    )


def _instance(announced: AnnouncedInstance) -> RemoteInstance:
    return RemoteInstance(
        instance=announced.instance,
        incarnation=announced.incarnation,
        is_leader=announced.is_leader,
        tags=frozenset(announced.tags),
        properties=MappingProxyType(dict(announced.properties)),
        draining=announced.draining,
    )
