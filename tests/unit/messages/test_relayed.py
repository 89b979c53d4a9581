"""What a relay adds to a record, and what of it is believed."""

from dataclasses import replace

import pytest

from callboard.messages.distribution.topic_messages import Kind, PackageMessage
from callboard.messages.headers import RecordHeaders, new_record, open_record
from callboard.messages.record import NewRecord, Record, pack_headers
from callboard.messages.relayed import (
    Origin,
    has_passed,
    is_too_far,
    key,
    origin_of,
    relayed,
    site_recipients,
)

PACKAGE = PackageMessage(publisher_instance="i", publisher="main", package_id="p", kind=Kind.DELETE, paths=("/a",))


def original(message: PackageMessage = PACKAGE, offset: int = 7) -> Record:
    return new_record(message, record_id="p", time_ns=1, producer="main@host").at(offset, 2)


def passed_on(record: Record, relay: str, log_id: str) -> NewRecord:
    return relayed(record, open_record(record, PackageMessage), relay, log_id)


def with_headers(*headers: tuple[str, str]) -> Record:
    return Record(offset=0, time_ns=0, payload=b"", header_block=pack_headers(headers))


def test_a_relayed_record_is_the_original_with_its_way() -> None:
    before = original()
    after = passed_on(before, "berlin", "centre")
    assert after.payload == before.payload
    assert after.key == key("berlin", "centre", 7)
    at = after.at(3, 4)
    assert origin_of(at) == Origin("berlin", (("centre", 7),))
    assert replace(RecordHeaders.parse(at.headers), relay="", path="") == RecordHeaders.parse(before.headers)


def test_the_way_grows_with_every_relay_oldest_first() -> None:
    twice = passed_on(passed_on(original(), "berlin", "centre").at(3, 4), "mitte", "berlin-log").at(9, 5)
    came = origin_of(twice)
    assert came == Origin("mitte", (("centre", 7), ("berlin-log", 3)))
    assert came.last == ("berlin-log", 3)
    assert [has_passed(twice, log) for log in ("centre", "berlin-log", "mitte-log")] == [True, True, False]


def test_headers_that_are_unknown_are_passed_on() -> None:
    record = original()
    record = replace(record, header_block=pack_headers((*record.headers, ("colour", "red"))))
    assert ("colour", "red") in passed_on(record, "berlin", "centre").headers


@pytest.mark.parametrize(
    "path", ["", "centre", "centre@", "@7", "centre@7 x", "centre@-7", "centre@7  a@1", f"centre@{2**63}"]
)
def test_a_way_that_makes_no_sense_is_none(path: str) -> None:
    record = with_headers(("type", "PackageMessage"), ("relay", "berlin"), ("path", path))
    assert origin_of(record) is None
    assert not has_passed(record, "centre")


def test_a_record_without_a_relay_is_an_original() -> None:
    assert origin_of(original()) is None
    assert origin_of(with_headers(("path", "centre@7"))) is None


def test_a_way_has_an_end() -> None:
    record, hops = original(), 0
    while not is_too_far(record, f"log-{hops:036}"):
        record, hops = passed_on(record, "berlin", f"log-{hops:036}").at(1, 1), hops + 1
    came = origin_of(record)
    assert came is not None
    assert len(came.path) == hops > 10


@pytest.mark.parametrize(
    ("recipients", "there"),
    [
        ((), ()),
        (("berlin",), ()),
        (("berlin/edge-1", "berlin/edge-2", "paris/edge-1", "other"), ("edge-1", "edge-2")),
        (("berlin/edge-1", "berlin"), ()),
        (("berlin/mitte/edge-1",), ("mitte/edge-1",)),
        (("berlin-2/edge-1", "berlin/edge-1"), ("edge-1",)),
    ],
)
def test_recipients_are_named_as_at_the_site(recipients: tuple[str, ...], there: tuple[str, ...]) -> None:
    assert site_recipients(recipients, "berlin") == there
    after = passed_on(original(replace(PACKAGE, recipients=recipients)), "berlin", "centre").at(1, 1)
    assert open_record(after, PackageMessage) == replace(PACKAGE, recipients=there)
    assert RecordHeaders.parse(after.headers).recipients == "\n".join(there)
