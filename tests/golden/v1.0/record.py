"""What the bytes beside this file stand for: the messages of record.py. Written once, never changed."""

from callboard.messages.record import (
    NewRecord,
    Record,
)

INSTANCES = (
    NewRecord(payload=b"\x08\x07", headers=(("type", "PingMessage"), ("version", "1.0")), key="r-5"),
    Record(
        offset=41,
        time_ns=1_700_000_000_000_000_001,
        payload=b"\x08\x07",
        header_block=b"type\0PingMessage\0version\0001.0",
    ),
)
