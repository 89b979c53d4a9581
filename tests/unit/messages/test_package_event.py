"""Events as JSON: what the original's readers know is there, and what they do not know does not harm them."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from callboard.errors import Undecodable
from callboard.messages.distribution.package_event import (
    KINDS,
    PATHS_MAX,
    EventMarks,
    Mark,
    PackageEvent,
    event_record,
    open_event,
    shown_paths,
)
from callboard.messages.distribution.topic_messages import PackageDistributedMessage
from callboard.messages.headers import open_record
from callboard.messages.json_codec import decode_json
from callboard.messages.record import NewRecord

texts = st.text(st.characters(exclude_categories=("Cs",), exclude_characters="\0"), max_size=20)
events = st.builds(
    PackageEvent,
    unknown=st.just(b""),
    kind=st.sampled_from(KINDS),
    publisher=texts,
    package_id=texts,
    offset=st.integers(-1, 2**62),
    dedup_key=st.text("abc/0", min_size=1, max_size=20),
    log_id=texts,
    time_ns=st.integers(1, 2**62),
    paths=st.lists(texts, max_size=3).map(tuple),
    deep_paths=st.lists(texts, max_size=3).map(tuple),
    more_paths=st.integers(0, 9),
    request=texts,
    user=texts,
    length=st.integers(0, 2**62),
    subscriber=texts,
    subscriber_instance=texts,
    outcome=texts,
    reason=texts,
    attempts=st.integers(0, 99),
)
DISTRIBUTED = PackageEvent(
    kind="distributed", publisher="site", package_id="p-1", offset=7, dedup_key="distributed/site/p-1", log_id="L",
    time_ns=9, paths=("/a", "/ü"), deep_paths=("/a",), request="ADD", user="ann", length=12,
)  # fmt: skip


@given(event=events)
def test_an_event_is_read_as_it_was_written(event: PackageEvent) -> None:
    assert open_event(event_record(event, 5, "site/i").at(1, 2)) == event


@pytest.mark.proves("F66")
def test_a_distributed_event_has_the_format_of_the_original() -> None:
    record = event_record(DISTRIBUTED, 5, "site/i").at(3, 4)
    assert record.header("type") == "PackageDistributedMessage"
    known = {"pubAgentName": "site", "packageId": "p-1", "deepPaths": ["/a"], "paths": ["/a", "/ü"], "offset": 7}
    said = json.loads(record.payload)
    assert {name: said[name] for name in known} == known
    assert (said["type"], said["dedupKey"]) == ("distributed", "distributed/site/p-1")
    theirs = PackageDistributedMessage(
        publisher="site", package_id="p-1", deep_paths=("/a",), paths=("/a", "/ü"), offset=7
    )
    assert decode_json(record.payload) == open_record(record, PackageDistributedMessage) == theirs


def test_a_message_of_the_original_is_an_event_without_a_key() -> None:
    payload = b'{"pubAgentName": "site", "packageId": "p", "deepPaths": null, "paths": ["/a"], "offset": 7}'
    headers = (("type", "PackageDistributedMessage"), ("version", "1"))
    event = open_event(NewRecord(payload=payload, headers=headers).at(3, 4))
    assert event == PackageEvent(
        kind="distributed", publisher="site", package_id="p", offset=7, dedup_key="", paths=("/a",), time_ns=4
    )


def test_marks_are_read_as_written_and_are_no_message_of_the_original() -> None:
    marks = EventMarks(publisher="site", marks=(Mark(kind="failed", log_id="L", offset=7),))
    record = event_record(marks, 5, "site/i").at(1, 2)
    assert open_event(record) == marks
    with pytest.raises(Undecodable):
        open_record(record, PackageDistributedMessage)


def test_events_have_a_key_made_of_their_content_and_marks_have_none() -> None:
    assert event_record(DISTRIBUTED, 5, "one/i").key == event_record(DISTRIBUTED, 6, "two/j").key != ""
    assert event_record(EventMarks(publisher="site", marks=()), 5, "one/i").key == ""


@pytest.mark.parametrize(
    ("kind", "payload"),
    [("PackageEvent", b"{"), ("PackageEvent", b"[]"), ("EventMarks", b'{"marks": 3}'), ("EventMarks", b"\xff"),
     ("Other", b"{}")],
)  # fmt: skip
def test_an_invalid_event_cannot_be_decoded_and_the_error_says_where(kind: str, payload: bytes) -> None:
    record = NewRecord(payload=payload, headers=(("type", kind), ("version", "1.1"))).at(8, 0)
    with pytest.raises(Undecodable, match="offset 8"):
        open_event(record)


def test_an_event_of_a_package_with_endless_paths_still_fits_a_record() -> None:
    paths = tuple(f"/{number:0200}" for number in range(5000))
    shown = shown_paths(paths)
    assert 0 < len(shown) < len(paths)
    assert sum(map(len, shown)) <= PATHS_MAX
