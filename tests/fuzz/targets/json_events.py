"""The JSON of the topic ``event``; the first byte says what its header calls it."""

import json

from callboard.errors import SchemaTooNew, Undecodable
from callboard.messages.codec import encode
from callboard.messages.distribution.package_event import (
    TYPES,
    EventMarks,
    Mark,
    PackageEvent,
    event_record,
    open_event,
)
from callboard.messages.distribution.topic_messages import PackageDistributedMessage
from callboard.messages.json_codec import decode_json, encode_json
from callboard.messages.record import Record, pack_headers

INT64 = range(-(2**63), 2**63)


def seeds() -> list[bytes]:
    event = PackageEvent(
        kind="failed", publisher="main", package_id="p1", offset=3, dedup_key="k", paths=("/a", "/ü"), subscriber="e"
    )
    marks = EventMarks(publisher="main", marks=(Mark(kind="failed", log_id="l", offset=9),))
    original = PackageDistributedMessage(publisher="main", package_id="p1", offset=3, paths=("/a",), deep_paths=("/b",))
    written = [event_record(each, 5, "main").payload for each in (event, marks)]
    return [b"\x01" + written[0], b"\x02" + written[1], b"\x00" + encode_json(original)]


def run(data: bytes) -> None:
    name, payload = TYPES[data[0] % len(TYPES)] if data else TYPES[0], data[1:]
    record = Record(offset=3, time_ns=4, payload=payload, header_block=header_block(name))
    try:
        event = open_event(record)
    except (Undecodable, SchemaTooNew) as error:
        assert "offset 3" in str(error)
        return
    new = event_record(event, 5, "main")
    again = open_event(Record(offset=3, time_ns=4, payload=new.payload, header_block=pack_headers(new.headers)))
    assert again == event, "it is another event once it was passed on"
    offsets = [mark.offset for mark in event.marks] if isinstance(event, EventMarks) else [event.offset, event.time_ns]
    assert all(offset in INT64 for offset in offsets), "an offset that no log has"
    if isinstance(event, EventMarks):
        said = {mark.kind: {"logId": mark.log_id, "offset": mark.offset} for mark in event.marks}
        told = json.loads(payload)["marks"]
        assert {kind: {name: mark[name] for name in ("logId", "offset")} for kind, mark in told.items()} == said
    else:
        encode(decode_json(payload))


def header_block(name: str) -> bytes:
    return pack_headers((("type", name), ("version", "1.1")))
