"""The headers of records, and the errors for records that cannot be read."""

from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from callboard.errors import SchemaTooNew, Undecodable
from callboard.messages.distribution.topic_messages import (
    CommandMessage,
    DiscoveryMessage,
    Kind,
    LogMessage,
    PackageDistributedMessage,
    PackageMessage,
    PingMessage,
)
from callboard.messages.event import Event
from callboard.messages.headers import RecordHeaders, new_record, open_record
from callboard.messages.record import HEADERS_MAX, Headers, NewRecord, Record, pack_headers, unpack_headers

PACKAGE = PackageMessage(publisher_instance="i-1", publisher="site", package_id="p-1", kind=Kind.DELETE, paths=("/a",))
LINE = LogMessage(publisher="site", subscriber_instance="s-1", subscriber="edge", message="hello")
DISTRIBUTED = PackageDistributedMessage(publisher="site", package_id="p-1", paths=("/a",), offset=7)


def written(event: Event, **more: Any) -> NewRecord:
    return new_record(event, record_id="id-1", time_ns=123, producer="site@host", **more)


def read(payload: bytes, headers: Headers) -> Record:
    return Record(offset=17, time_ns=456, payload=payload, header_block=pack_headers(headers))


def reread(new: NewRecord, **changed: str | None) -> Record:
    """The record as a reader gets it, with some headers replaced or, for None, left out."""
    headers = dict(new.headers) | changed
    return read(new.payload, tuple((name, value) for name, value in headers.items() if value is not None))


@pytest.mark.parametrize("event", [PACKAGE, LINE, DISTRIBUTED, PingMessage()], ids=lambda event: type(event).__name__)
def test_a_written_record_can_be_read(event: Event) -> None:
    assert open_record(reread(written(event)), type(event)) == event


@pytest.mark.proves("F7")
def test_a_record_is_described_by_its_headers() -> None:
    record = written(LINE, key="k", cause="r-1", traceparent="00-ab-cd-01", publisher="site")

    assert record.key == "k"
    assert record.headers == (
        ("type", "LogMessage"),
        ("version", "1.4"),
        ("id", "id-1"),
        ("time_ns", "123"),
        ("cause", "r-1"),
        ("traceparent", "00-ab-cd-01"),
        ("producer", "site@host"),
        ("publisher", "site"),
    )


def test_a_package_can_be_told_from_a_foreign_one_by_its_headers() -> None:
    headers = RecordHeaders.parse(written(PACKAGE).headers)

    assert (headers.publisher, headers.kind) == ("site", "DELETE")


@pytest.mark.proves("F7")
def test_a_reader_accepts_each_of_its_expected_types() -> None:
    assert open_record(reread(written(LINE)), (DiscoveryMessage, LogMessage)) == LINE


@pytest.mark.proves("W1")
def test_a_newer_minor_version_is_read() -> None:
    assert open_record(reread(written(PACKAGE), version="1.99"), PackageMessage) == PACKAGE


def test_a_newer_major_version_of_a_message_asks_for_an_upgrade() -> None:
    with pytest.raises(SchemaTooNew, match=r"offset 17 has schema version 2, .*upgrade"):
        open_record(reread(written(PACKAGE), version="2.0", type="Bundle"), PackageMessage)


@pytest.mark.proves("F7", "W1")
@pytest.mark.parametrize(
    ("changed", "problem"),
    [
        ({"type": None}, "no header 'type'"),
        ({"type": ""}, "no header 'type'"),
        ({"type": "Bundle"}, "'Bundle', where only PackageMessage or CommandMessage is expected"),
        ({"type": "LogMessage"}, "'LogMessage', where only PackageMessage or CommandMessage is expected"),
        ({"version": None}, "'version' is None"),
        ({"version": "new"}, "'version' is 'new'"),
        ({"version": "1.0.0"}, "'version'"),
        ({"version": "\u0661"}, "'version'"),
        ({"time_ns": "yesterday"}, "'time_ns' is 'yesterday'"),
    ],
)
def test_the_error_for_an_unknown_record_says_which_and_why(changed: dict[str, str | None], problem: str) -> None:
    with pytest.raises(Undecodable, match="the record at offset 17 cannot be decoded: ") as caught:
        open_record(reread(written(PACKAGE), **changed), (PackageMessage, CommandMessage))
    assert problem in str(caught.value)


def test_the_error_for_a_damaged_record_says_which_and_why() -> None:
    with pytest.raises(Undecodable, match=r"offset 17 cannot be decoded: PackageMessage\.\w+ is missing"):
        open_record(read(b"", written(PACKAGE).headers), PackageMessage)


@pytest.mark.parametrize("claim", [{"length": 2**63 - 1}, {"length": -1}, {"entries": 2**32}, {"entries": -5}], ids=str)
def test_a_package_with_impossible_figures_is_refused(claim: dict[str, int]) -> None:
    record = reread(written(replace(PACKAGE, **claim)))  # type: ignore[arg-type]

    with pytest.raises(Undecodable, match=f"offset 17 .* claims the {next(iter(claim))}"):
        open_record(record, PackageMessage)


def test_the_first_of_two_headers_of_a_name_counts() -> None:
    record = written(PACKAGE)

    assert open_record(read(record.payload, (*record.headers, ("type", "Bundle"))), PackageMessage) == PACKAGE


text = st.text(st.characters(codec="utf-8", exclude_characters="\0"))
names = st.sampled_from(["type", "version", "time_ns", "id", "other"]) | text
values = st.sampled_from(["PackageMessage", "1", "2", "1.0", "9" * 30]) | text
blocks = st.lists(st.tuples(names, values)).map(tuple).map(pack_headers) | st.binary(max_size=60)


@given(block=blocks, payload=st.binary(max_size=30))
def test_any_record_is_an_event_or_a_documented_error(block: bytes, payload: bytes) -> None:
    record = Record(offset=17, time_ns=456, payload=payload, header_block=block)
    try:
        event = open_record(record, (PackageMessage, PackageDistributedMessage, PingMessage))
    except (Undecodable, SchemaTooNew) as problem:
        assert "offset 17" in str(problem)  # noqa: PT017 - both outcomes are right
    else:
        assert isinstance(event, PackageMessage | PackageDistributedMessage | PingMessage)


usual = st.fixed_dictionaries({
    "type": st.sampled_from(["PingMessage", "Bundle", "0", "Untrusted", "Ping\x01"]),
    "version": st.sampled_from(["1.4", "1.99", "1", "1.", "01.4", "2.0"]),
    "id": st.sampled_from(["id-1", "", "\x01", "x" * 5000]),
    "time_ns": st.sampled_from(["0", "", "-1", "9" * 18, "9" * 19, str(2**63 - 1), str(2**63), "1" * 20, "7x"]),
})  # fmt: skip


@given(headers=usual, more=st.lists(st.tuples(names, values), max_size=2).map(tuple), left_out=st.sets(names))
def test_a_record_with_the_usual_headers_is_read_as_any_other(
    headers: dict[str, str], more: Headers, left_out: set[str]
) -> None:
    def outcome(*first: tuple[str, str]) -> str:
        kept = tuple(pair for pair in headers.items() if pair[0] not in left_out)
        try:
            return repr(open_record(read(b"", (*first, *kept, *more)), PingMessage))
        except (Undecodable, SchemaTooNew) as problem:
            return repr(problem)

    assert outcome() == outcome(("other", "first"))


fitting_texts = st.text(st.characters(exclude_categories=("Cs", "Cc")), max_size=4000)
headers_of_any_kind = st.builds(
    RecordHeaders,
    type=fitting_texts.filter(lambda text: text and not text.isdecimal()),
    version=st.tuples(st.integers(0, 999), st.integers(0, 999)),
    time_ns=st.integers(0, 2**62),
    **dict.fromkeys(("id", "cause", "traceparent", "producer", "publisher", "kind"), fitting_texts),
)


@pytest.mark.proves("F8")
@given(headers=headers_of_any_kind)
def test_headers_are_read_as_they_were_written(headers: RecordHeaders) -> None:
    assert RecordHeaders.parse(headers.to_pairs()) == headers


@given(st.lists(st.tuples(text, text)).map(tuple))
def test_headers_are_unpacked_as_they_were_packed(headers: Headers) -> None:
    assert unpack_headers(pack_headers(headers)) == headers


def test_of_too_many_headers_only_the_first_are_read() -> None:
    block = pack_headers((*((f"h{number}", "x") for number in range(HEADERS_MAX)), ("late", "x")))
    record = Record(offset=1, time_ns=1, payload=b"", header_block=block)
    assert len(record.headers) == HEADERS_MAX
    assert (record.header(f"h{HEADERS_MAX - 1}"), record.header("late")) == ("x", "")


def test_a_header_with_a_nul_is_refused() -> None:
    with pytest.raises(ValueError, match="NUL"):
        pack_headers((("name", "va\0lue"),))
