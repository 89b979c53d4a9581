"""What the bytes beside this file stand for: what version 1.1 added to mailbox.py. Written once, never changed."""

from callboard.messages.mailbox import ErrorCount, FleetView

INSTANCES = (
    FleetView(members=(), unread=40_000, dropped=3),
    ErrorCount(subscriber="edge-1", publisher="site", size=12, held=2, hooks=1, dropped=30),
)
