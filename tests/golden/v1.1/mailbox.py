"""What the bytes beside this file stand for: what version 1.1 added to mailbox.py. Written once, never changed."""

from callboard.messages.distribution import Kind
from callboard.messages.mailbox import DistributeRequest, DistributeResponse, ErrorCount, FleetView

INSTANCES = (
    FleetView(members=(), unread=40_000, dropped=3),
    ErrorCount(subscriber="edge-1", publisher="site", size=12, held=2, hooks=1, dropped=30),
    DistributeRequest(
        request_id="r-6", kind=Kind.DELETE, paths=("/a",), metadata=(("why", "old"),), recipients=("edge-1", "edge-2")
    ),
    DistributeResponse(
        request_id="r-6", accepted=False, reason="nothing in it", dropped=True, throttled_ms=1500, throttled_by="edge-1"
    ),
)
