"""What the bytes beside this file stand for: what version 1.4 added to ledger.py. Written once, never changed."""

from callboard.messages.distribution.ledger import HookDue
from callboard.messages.distribution.topic_messages import Kind

INSTANCES = (
    HookDue(
        offset=42, publisher="site", package_id="p-18", kind=Kind.ADD,
        traceparent="00-4bf92f3577b34da6a3ce929d0e0e4736-b7ad6b7169203331-01",
    ),
)  # fmt: skip
