"""What the bytes beside this file stand for: the mail of a member agent, which version 1.4 added. Written once, never
changed.
"""

from callboard.messages.topology.cluster_state import AgreedView, ClusterState, Health, LogClock
from callboard.messages.topology.member_mail import (
    Acknowledged,
    AcknowledgeView,
    ChangeProperties,
    ClusterNews,
    LeaveCluster,
    LeftCluster,
    MessageSent,
    PropertiesChanged,
    Pulse,
    TopicRead,
    WatchCluster,
)

INSTANCES = [
    ClusterNews(
        version=7,
        log_id="log-1",
        state=ClusterState(offset=41, clock=LogClock(now_ms=9_000, time_ms=9_500), view=AgreedView(epoch=40)),
        standing_until_ms=123_456,
        problem="evicted",
        detail="web-2 proposed it",
        read_to=41,
        lag_ms=12,
    ),
    WatchCluster(after=6, wait_ms=2_000, health=Health.POOR, load_permille=750),
    Acknowledged(epoch=40),
    AcknowledgeView(epoch=40),
    PropertiesChanged(offset=44, problem="too large"),
    ChangeProperties(set=(("role", "search"),), unset=("old",)),
    LeftCluster(epoch=45),
    LeaveCluster(reason="deployment"),
    Pulse(health=Health.BAD, load_permille=990),
    MessageSent(seq=8, at_ms=120_000, joined=True),
    TopicRead(read_to=41),
]
