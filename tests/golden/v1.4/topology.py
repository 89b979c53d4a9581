"""What the bytes beside this file stand for: the messages of the control topic, which version 1.4 added. Written once,
never changed.
"""

from callboard.messages.topology.cluster_state import (
    AckPolicy,
    AgreedView,
    Barrier,
    ClusterMember,
    ClusterSettings,
    ClusterState,
    Departed,
    Health,
    LogClock,
)
from callboard.messages.topology.control_messages import (
    AckMessage,
    AdminMessage,
    DrainCommand,
    EvictCommand,
    Evidence,
    FreezeCommand,
    JoinMessage,
    LeaderMessage,
    LeaveMessage,
    PropertiesMessage,
    ProposeMessage,
    RenewMessage,
    SnapshotMessage,
    SuspectMessage,
    TransferCommand,
)

BY = {"instance": "web-1", "incarnation": "f00d", "seq": 7}

SETTINGS = ClusterSettings(
    cluster_id="blue",
    protocol=2,
    lease_ms=12_000,
    gap_ms=4_000,
    ack_policy=AckPolicy.PROCEED,
    ack_deadline_ms=15_000,
    budget_percent=40,
    budget_min=2,
)
BARRIER = Barrier(topic="callboard.package", log_id="log-1", offset=300)
MEMBER = ClusterMember(
    instance="web-1",
    incarnation="f00d",
    join_offset=40,
    seq=7,
    heard_ms=51_000,
    acked=90,
    priority=-3,
    protocol=2,
    protocol_min=2,
    tags=("web",),
    properties=(("zone", "east"),),
    properties_offset=44,
    draining=True,
    suspected_by=("web-2",),
    read_to=95,
    health=Health.POOR,
    load_permille=750,
)
CLOCK = LogClock(now_ms=52_000, time_ms=1_700_000_000_000, behind_ms=1_699_999_999_000, stalled_ms=500)
VIEW = AgreedView(
    leader="web-1",
    leader_epoch=80,
    epoch=90,
    epoch_ms=50_000,
    state_hash="00112233445566778899aabbccddeeff",
    settled=85,
    degraded=True,
    barriers=(BARRIER,),
)
GONE = Departed(instance="web-3", incarnation="beef", offset=89)
STATE = ClusterState(
    offset=95,
    clock=CLOCK,
    view=VIEW,
    settings=SETTINGS,
    members=(MEMBER,),
    frozen=True,
    admin_offset=88,
    evicted_ms=(49_000, 50_000),
    gone=(GONE,),
    gone_horizon=12,
    snapshot=60,
    stopped=94,
)
EVICT, DRAIN = EvictCommand(target="web-2", barriers=(BARRIER,)), DrainCommand(target="web-2", draining=False)
TRANSFER, FREEZE = TransferCommand(target="web-2"), FreezeCommand(frozen=False)

INSTANCES = [
    SETTINGS, BARRIER, MEMBER, CLOCK, VIEW, GONE, STATE, EVICT, DRAIN, TRANSFER, FREEZE,
    JoinMessage(
        **BY, previous="cafe", read_to=39, protocol=2, protocol_min=2, priority=-3, tags=("web", "db"),
        properties=(("zone", "east"),), barriers=(BARRIER,),
    ),
    RenewMessage(**BY, read_to=95, health=Health.BAD, load_permille=750),
    PropertiesMessage(**BY, set=(("zone", "west"),), unset=("name",)),
    LeaveMessage(**BY, reason="the host is upgraded", barriers=(BARRIER,)),
    ProposeMessage(
        **BY, base_epoch=90, remove=("web-2", "web-3"), evidence=Evidence.NO_ACK, reason="mute", barriers=(BARRIER,)
    ),
    AckMessage(**BY, epoch=90, state_hash="00112233445566778899aabbccddeeff"),
    SuspectMessage(**BY, target="web-2", target_incarnation="beef", withdrawn=True, reason="no route"),
    LeaderMessage(**BY, leader_epoch=90, payload=b"\x00shard 7"),
    AdminMessage(
        **BY, base=90, author="ann", reason="moving", evict=EVICT, drain=DRAIN, transfer=TRANSFER, freeze=FREEZE,
        configure=SETTINGS,
    ),
    SnapshotMessage(**BY, state=STATE, state_hash="ffeeddccbbaa99887766554433221100"),
]  # fmt: skip
