"""What the bytes beside this file stand for: the messages of ledger.py. Written once, never changed."""

from callboard.messages.distribution.ledger import (
    Ledger,
    Watermark,
)
from callboard.messages.distribution.topic_messages import (
    PackageStatusMessage,
    Status,
)

INSTANCES = (
    Watermark(publisher="site", offset=41),
    Ledger(
        instance="0b7f",
        subscriber="edge-1",
        log_id="log-a",
        positioned=True,
        offset=41,
        attempt_offset=42,
        attempts=2,
        last_error="No space left on device",
        clears=(Watermark(publisher="site", offset=41),),
        command_log_id="log-b",
        command_offset=6,
        cleared=2,
        imported=40,
        next_sequence=10,
        outbox=(
            PackageStatusMessage(
                subscriber_instance="0b7f",
                subscriber="edge-1",
                publisher="site",
                offset=41,
                status=Status.IMPORTED,
                reason="out of space",
                attempts=2,
                package_id="p-17",
                sequence=9,
                time_ns=1_700_000_000_000_000_001,
            ),
        ),
    ),
)
