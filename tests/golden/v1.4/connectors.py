"""What the bytes beside this file stand for: what clusters send each other, which version 1.4 added. Written once,
never changed.
"""

from callboard.messages.topology.connector_messages import AnnouncedCluster, AnnouncedInstance, Announcement, Envelope

INSTANCE = AnnouncedInstance(
    instance="web-1",
    incarnation="f00d",
    is_leader=True,
    tags=("db", "web"),
    properties=(("zone", "east"),),
    draining=True,
)
CLUSTER = AnnouncedCluster(
    cluster_id="blue",
    log_id="log-1",
    epoch=90,
    leader_epoch=40,
    settled=True,
    instances=(INSTANCE,),
    path=("web-1", "relay-7"),
)
ENVELOPE = Envelope(
    protocol=2,
    key_id="ring-2026",
    sender="web-1",
    receiver="relay-7:00112233",
    sent_ms=1_700_000_000_000,
    counter=12,
    nonce=b"0123456789ab",
    sealed=b"\x00\xff",
)
INSTANCES = [INSTANCE, CLUSTER, Announcement(keep_ms=30_000, clusters=(CLUSTER,)), ENVELOPE]
