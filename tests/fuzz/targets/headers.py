"""The header block of a record, and after a blank the payload: read as any message that there is."""

from callboard.errors import SchemaTooNew, Undecodable
from callboard.messages.codec import encode, event_classes
from callboard.messages.distribution.topic_messages import ClearCommand, CommandMessage
from callboard.messages.headers import RecordHeaders, open_record
from callboard.messages.record import Record, pack_headers, unpack_headers

CLASSES = tuple(event_classes().values())
INT64_MAX = 2**63 - 1
COMMAND = CommandMessage(subscriber_instance="", subscriber="edge-1", clear=ClearCommand(offset=7))


def seeds() -> list[bytes]:
    headers = RecordHeaders(
        type="CommandMessage", id="r1", time_ns=1_700_000_000, cause="q", producer="p", recipients="edge-1"
    )
    original = (("type", "4"), ("version", "1"))
    return [pack_headers(pairs) + b" " + encode(COMMAND) for pairs in (headers.to_pairs(), original)]


def run(data: bytes) -> None:
    block, _, payload = data.partition(b" ")
    pairs = unpack_headers(block)
    assert unpack_headers(pack_headers(pairs)) == pairs or not pairs
    try:
        headers = RecordHeaders.parse(pairs)
    except Undecodable:
        return
    assert RecordHeaders.parse(headers.to_pairs()) == headers, "it says something else once it was passed on"
    assert 0 <= headers.time_ns <= INT64_MAX, "a time that no log and no message can hold"
    try:
        open_record(Record(offset=3, time_ns=4, payload=payload, header_block=block), CLASSES)
    except (Undecodable, SchemaTooNew) as error:
        assert "offset 3" in str(error)
