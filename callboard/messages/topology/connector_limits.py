"""The limits of what other clusters announce: to this cluster it is untrusted input."""

import re

from callboard.messages.topology.connector_messages import AnnouncedCluster, AnnouncedInstance, Announcement
from callboard.messages.topology.limits import (
    CLUSTER_ID,
    MEMBERS_MAX,
    TAGS_MAX,
    check_few,
    check_name,
    check_pairs,
    demand,
)

LOG_ID = re.compile(r"[A-Za-z0-9_.:/-]{1,200}")
"""What a backend calls a topic's identity: a UUID, or cluster and topic in Kafka."""

PATH_MAX = 16
"""Instances that pass an announcement on. A longer chain is not followed, so clusters beyond it stay unknown."""

INSTANCES_MAX = 10_000
"""Instances in one announcement: ten clusters of the largest size, or many small ones."""

CLUSTERS_MAX = 1000

KEEP_MS_MAX = 900_000
"""The longest that clusters are kept without another announcement, even if the sender asks for more."""


def check_announcement(announcement: Announcement, sender: str) -> None:
    """Raise ``Undecodable`` unless this can be an announcement by the instance ``sender``."""
    clusters = announcement.clusters
    demand(1 <= announcement.keep_ms <= KEEP_MS_MAX, f"it is to be kept for {announcement.keep_ms} ms")
    check_few("clusters", [(each.cluster_id, each.log_id) for each in clusters], CLUSTERS_MAX)
    instances = [each.instance for cluster in clusters for each in cluster.instances]
    check_few("instances", instances, INSTANCES_MAX)
    for cluster in clusters:
        _check_cluster(cluster, sender)


def _check_cluster(cluster: AnnouncedCluster, sender: str) -> None:
    demand(bool(CLUSTER_ID.fullmatch(cluster.cluster_id)), f"{cluster.cluster_id!r:.80} is not a cluster id")
    demand(bool(LOG_ID.fullmatch(cluster.log_id)), f"{cluster.log_id!r:.80} is not the id of a log")
    demand(0 <= cluster.leader_epoch <= cluster.epoch, f"the epochs are {cluster.leader_epoch} and {cluster.epoch}")
    demand(1 <= len(cluster.instances) <= MEMBERS_MAX, f"a cluster has {len(cluster.instances)} members")
    check_few("steps in a path", cluster.path, PATH_MAX)
    for step in cluster.path:
        check_name("step in a path", step)
    demand(cluster.path[-1:] == (sender,), f"a path does not end with the sender {sender}")
    made_by = any(each.instance == cluster.path[0] for each in cluster.instances)
    demand(made_by, f"the cluster {cluster.cluster_id} was not announced by a member of it")
    leaders = sum(each.is_leader for each in cluster.instances)
    demand(leaders == 1, f"the cluster {cluster.cluster_id} has {leaders} leaders")
    for instance in cluster.instances:
        _check_instance(instance)


def _check_instance(instance: AnnouncedInstance) -> None:
    check_name("instance", instance.instance)
    check_name("incarnation", instance.incarnation)
    check_few("tags", instance.tags, TAGS_MAX)
    for tag in instance.tags:
        check_name("tag", tag)
    check_pairs(instance.properties)
