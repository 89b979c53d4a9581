"""What other clusters send: envelopes, and the announcements in them, which must be fit to be passed on."""

from callboard.actors.topology.announcements.registry import Registry, Source
from callboard.actors.topology.cluster_view import ClusterView, view_of
from callboard.connectors import ConnectorKey
from callboard.connectors.envelope import Route, opened, sealed
from callboard.connectors.keys import KeyRing
from callboard.errors import Undecodable
from callboard.messages.codec import decode, encode
from callboard.messages.topology.cluster_state import AgreedView, ClusterMember, ClusterSettings, ClusterState, LogClock
from callboard.messages.topology.connector_limits import check_announcement
from callboard.messages.topology.connector_messages import AnnouncedCluster, AnnouncedInstance, Announcement, Envelope

KEY = ConnectorKey("ring", bytes(32))
ROUTE = Route("request", "PUT", "/callboard/topology")
LOCAL = ClusterState(
    offset=2,
    clock=LogClock(),
    view=AgreedView(leader="me", leader_epoch=1, epoch=2),
    settings=ClusterSettings(cluster_id="here"),
    members=tuple(ClusterMember(instance=each, incarnation="1", join_offset=1) for each in ("me", "mate")),
)
ENVELOPE = Envelope(
    protocol=2, key_id="", sender="x-1", receiver="me:" + "0" * 32, sent_ms=1, counter=1, nonce=bytes(12), sealed=b""
)


def cluster(name: str, *path: str) -> AnnouncedCluster:
    members = (
        AnnouncedInstance(
            instance=path[0], incarnation="1", is_leader=True, tags=("web",), properties=(("zone", "east"),)
        ),
        AnnouncedInstance(instance=f"{name}-9", incarnation="2", draining=True),
    )
    return AnnouncedCluster(
        cluster_id=name, log_id=f"log-{name}", epoch=7, leader_epoch=3, settled=True, instances=members, path=path
    )


GOOD = Announcement(keep_ms=30_000, clusters=(cluster("x", "x-1"), cluster("y", "y-1", "z-1", "x-1")))


def seeds() -> list[bytes]:
    return [encode(GOOD), sealed(None, ROUTE, ENVELOPE, GOOD), sealed(KEY, ROUTE, ENVELOPE, GOOD)]


def run(data: bytes) -> None:
    for keys in ([], [KEY]):
        try:
            announced(opened(KeyRing(keys), ROUTE, data).announcement)
        except Undecodable:
            continue
    try:
        announced(decode(Announcement, data))
    except Undecodable:
        return


def announced(announcement: Announcement) -> None:
    check_announcement(announcement, "x-1")
    registry = Registry("me", view)
    registry.hear(Source("x-1", answered=False), announcement, 0)
    seen = [each.instance for cluster in registry.remote() for each in cluster.instances]
    assert len(set(seen)) == len(seen)
    assert not {"me", "mate"} & set(seen)
    said = registry.said_to("next-1")
    assert said is not None
    try:
        check_announcement(Announcement(keep_ms=1, clusters=said), "me")
    except Undecodable as error:
        raise AssertionError("what was accepted cannot be passed on") from error


def view() -> ClusterView | None:
    return view_of(LOCAL, "log-here", ("me", "1"))
