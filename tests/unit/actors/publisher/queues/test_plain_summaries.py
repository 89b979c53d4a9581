"""A summary that was read the fast way is the one that is read with every check."""

from contextlib import suppress
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from callboard.actors.publisher.queues.summary import summarise
from callboard.messages._pb.distribution_pb2 import PackageMessage as Bare
from callboard.messages.distribution import plain_summaries
from callboard.messages.distribution.topic_messages import Kind, PackageMessage
from callboard.messages.headers import ENTRIES_MAX, LENGTH_MAX, new_record
from callboard.messages.record import Record, pack_headers

texts = st.one_of(
    st.sampled_from(("", "a", "site", "x" * 500, "x" * 1001, "a\nb", "\x7f", "ünï", "/", "/a")), st.text(max_size=5)
)
paths = st.lists(st.sampled_from(("/a", "/b/c", "no", "/" + "x" * 990, "/" + "x" * 4100, "", "/ü")), max_size=120)
names = st.lists(texts, max_size=3)
numbers = st.sampled_from((0, 1, 10_000, ENTRIES_MAX, ENTRIES_MAX + 1, LENGTH_MAX, LENGTH_MAX + 1, -1))
TEXTS = (
    "publisher_instance", "publisher", "package_id", "content_ref", "format", "user", "request_id", "content_digest",
    "source",
)  # fmt: skip
fields = st.fixed_dictionaries(
    {},
    optional={
        **dict.fromkeys(TEXTS, texts),
        **dict.fromkeys(("paths", "deep_paths"), paths),
        **dict.fromkeys(("blobs", "recipients"), names),
        **dict.fromkeys(("length", "entries", "total_bytes"), numbers),
        "kind": st.sampled_from(Kind),
        "content": st.binary(max_size=9),
        "metadata": st.lists(st.tuples(texts, texts), max_size=2),
    },
)  # fmt: skip
tails = st.sampled_from((
    b"", b"", b"", b"\x20\x63", b"\x20\x02", b"\xf8\x7f\x01", b"\x12\x01\xff", b"\x3a\x01\xff", b"\x2a\x01\xff",
    b"\xaa\x02\x01\xff", b"\x82\x02\x03\x0a\x01\xff", b"\xff",
))  # fmt: skip
"""Bytes after a message: another or an unknown kind, an unknown field, texts that are not UTF-8, a broken field."""


def record(given: dict[str, Any], tail: bytes, required: bool) -> Record:
    pairs = [{"name": name, "value": value} for name, value in given.pop("metadata", ())]
    if required:
        given = {"publisher_instance": "i", "package_id": "p", "kind": Kind.ADD, "format": "callboard"} | given
    message = PackageMessage(publisher_instance="i", publisher="site", package_id="p", kind=Kind.ADD, recipients=("x",))
    new = new_record(message, record_id="r", time_ns=5, producer="test")
    payload = Bare(metadata=pairs, **given).SerializeToString()
    return Record(offset=7, time_ns=70, payload=payload + tail, header_block=pack_headers(new.headers))


def checked(it: Record) -> Any:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(plain_summaries, "PLAIN_BYTES_MAX", -1)
        return summarise(it)


@given(given=fields, tail=tails, required=st.sampled_from((True, True, True, False)))
@settings(max_examples=150, deadline=None)
def test_a_summary_is_the_same_with_and_without_every_check(given: dict[str, Any], tail: bytes, required: bool) -> None:
    with suppress(UnicodeEncodeError):  # lone surrogates
        it = record(dict(given), tail, required)
        assert summarise(it) == checked(it)


@given(given=fields, place=st.integers(0, 400), value=st.integers(0, 255))
@settings(max_examples=150, deadline=None)
def test_a_damaged_record_has_the_summary_of_one_that_is_checked(given: dict[str, Any], place: int, value: int) -> None:
    with suppress(UnicodeEncodeError):
        it = record(dict(given), b"", required=True)
        place %= len(it.payload)
        payload = it.payload[:place] + bytes([value]) + it.payload[place + 1 :]
        damaged = Record(offset=7, time_ns=70, payload=payload, header_block=it.header_block)
        assert summarise(damaged) == checked(damaged)


def test_a_usual_package_is_read_the_fast_way() -> None:
    it = record({"paths": ["/a"], "length": 5, "user": "ann", "recipients": ["x", "y"]}, b"", required=True)
    assert plain_summaries.plain_summary(it) == checked(it)
