"""The two ways to decode agree, and what cannot be decoded stays in the table."""

import random

import pyarrow as pa
import pytest

from callboard.messages.codec import encode
from callboard.messages.distribution.package_event import PackageEvent, event_record
from callboard.messages.distribution.topic_messages import (
    ClearCommand,
    CommandMessage,
    CommandResultMessage,
    DiscoveryMessage,
    ForgottenMessage,
    Kind,
    LogMessage,
    PackageMessage,
    PackageStatusMessage,
    RetryCommand,
    State,
    Status,
    SubscriberConfiguration,
    SubscriberState,
    ThrottledMessage,
)
from callboard.messages.event import Event, replaced
from callboard.messages.headers import new_record
from callboard.messages.record import NewRecord
from callboard.pipeline.source import fast_decoding
from callboard.pipeline.source.columns import RAW, record_columns
from callboard.pipeline.source.decoding import decoded

SEEDS = range(5)


def raw(*records: NewRecord) -> pa.RecordBatch:
    read = [record.at(number, number) for number, record in enumerate(records, start=1)]
    columns = zip(*((each.offset, each.time_ns, each.header_block, each.payload) for each in read), strict=True)
    arrays = [pa.array(list(column), field.type) for column, field in zip(columns, RAW, strict=True)]
    return pa.RecordBatch.from_arrays(arrays, schema=RAW)


def record(event: Event, **headers: str) -> NewRecord:
    return new_record(event, **{"record_id": "r", "time_ns": 7, "producer": "p/1", **headers})


def text(dice: random.Random) -> str:
    return dice.choice(["", "a", "/blog/ä", "x" * 300])


def some_messages(topic: str, dice: random.Random) -> list[Event]:
    number, names = dice.randrange(-1, 1 << 40), tuple(text(dice) for _ in range(dice.randrange(3)))
    choices: dict[str, list[Event]] = {
        "package": [
            PackageMessage(publisher_instance="i", publisher=text(dice), package_id=text(dice),
                           kind=dice.choice(list(Kind)), paths=tuple(f"/{name}" for name in names),
                           length=abs(number), content=b"c",
                           metadata=tuple((name, "v") for name in names))
        ],
        "status": [
            PackageStatusMessage(subscriber_instance="i", subscriber=text(dice), publisher="p", offset=number,
                                 status=dice.choice(list(Status)), reason=text(dice),
                                 attempts=dice.randrange(3)),
            CommandResultMessage(subscriber_instance="i", subscriber="s", command_id="c", command_offset=number,
                                 accepted=dice.random() < 0.5),
        ],
        "discovery": [
            DiscoveryMessage(subscriber_instance="i", subscriber="s", offset=number,
                             state=dice.choice(list(State)),
                             configuration=SubscriberConfiguration(editable=True, max_retries=9, follows=names),
                             states=tuple(SubscriberState(publisher=name, offset=number) for name in names)),
            ForgottenMessage(subscriber=text(dice)),
            LogMessage(publisher="p", subscriber_instance="i", subscriber="s", message=text(dice)),
            ThrottledMessage(publisher="p", publisher_instance="i", subscriber=text(dice), backlog=number),
        ],
        "command": [
            CommandMessage(subscriber_instance="i", subscriber="s", clear=ClearCommand(offset=number),
                           signature=b"\xff"),
            CommandMessage(subscriber_instance="i", subscriber="s", retry=RetryCommand()),
        ],
    }  # fmt: skip
    return dice.choices(choices[topic], k=50)


@pytest.mark.parametrize("topic", ["package", "status", "discovery", "command"])
@pytest.mark.parametrize("seed", SEEDS)
def test_the_fast_decoder_and_the_codec_give_the_same_rows(topic, seed):
    assert fast_decoding, "ptars is installed for the tests"
    batch = raw(*map(record, some_messages(topic, random.Random(seed))))
    columns = record_columns(topic, decode=True, payload=True)
    fast, slow = decoded(batch, topic, columns), decoded(batch, topic, columns, fast=False)
    assert fast.to_pylist() == slow.to_pylist()
    assert fast.column("problem").null_count == fast.num_rows


def package(**said):
    return PackageMessage(**{"publisher_instance": "i", "package_id": "p", "kind": Kind.ADD, **said})


@pytest.mark.parametrize(
    ("topic", "hostile", "is_read"),
    [
        ("package", package(paths=("blog",)), False),
        ("package", package(deep_paths=("/a", "/" + "x" * 5000)), False),
        ("package", package(package_id="a\nb"), False),
        ("package", package(publisher="x" * 1001), False),
        ("package", package(length=1 << 50), False),
        ("package", package(entries=-1), False),
        ("package", package(user="x" * 30_000), True),
        ("package", replaced(package(content=b"c" * 150_000), unknown=b"\xf8\x01\x00" * 50_000), False),
        ("package", replaced(package(content=b"c" * 150_000), unknown=b"\xf8\x01\x00" * 40_000), True),
        ("discovery", DiscoveryMessage(
            subscriber_instance="i", subscriber="s", left=tuple(range(2000)),
            configuration=SubscriberConfiguration(editable=True, max_retries=9, follows=("x" * 9,) * 20_000),
        ), False),
        ("discovery", DiscoveryMessage(
            subscriber_instance="i", subscriber="s", left=tuple(range(2000)),
            configuration=SubscriberConfiguration(editable=True, max_retries=9, golden="x"),
        ), True),
    ],
)  # fmt: skip
def test_values_beyond_the_bounds_of_a_message_are_read_as_by_the_codec(topic, hostile, is_read):
    odd = NewRecord(payload=encode(hostile), headers=record(package()).headers)
    headers = (("type", type(hostile).__name__), *((name, value) for name, value in odd.headers if name != "type"))
    batch = raw(NewRecord(payload=odd.payload, headers=headers))
    columns = record_columns(topic, decode=True, payload=True)
    fast, slow = decoded(batch, topic, columns), decoded(batch, topic, columns, fast=False)
    assert fast.to_pylist() == slow.to_pylist()
    assert (fast.column("problem").null_count == 1) is is_read


def test_a_damaged_record_is_kept_with_its_bytes_and_error_and_the_others_are_decoded():
    good = PackageStatusMessage(
        subscriber_instance="i", subscriber="s", publisher="p", offset=3, status=Status.IMPORTED
    )
    whole = record(good)
    newer_enum = encode(good)[:-2] + b"\x28\x7f"
    records = [
        whole,
        NewRecord(payload=b"\xff\xff", headers=whole.headers),
        NewRecord(payload=b"", headers=whole.headers),
        NewRecord(payload=newer_enum, headers=whole.headers),
        NewRecord(payload=whole.payload, headers=(("type", "PackageStatusMessage"), ("version", "2.0"))),
        NewRecord(payload=whole.payload, headers=(("type", "Stranger"), ("version", "1.0"))),
        NewRecord(payload=whole.payload),
        NewRecord(payload=whole.payload, headers=(("type", "3"), ("version", "1"))),
        NewRecord(payload=whole.payload, headers=(*whole.headers, ("further", "header"))),
    ]
    found = decoded(raw(*records), "status", record_columns("status", decode=True, payload=True)).to_pylist()
    readable = [0, 7, 8]
    assert [row["status"] is not None for row in found] == [number in readable for number in range(len(records))]
    assert [row["problem"] is None for row in found] == [number in readable for number in range(len(records))]
    assert [row["payload"] for row in found] == [record.payload for record in records]
    assert "upgrade" in found[3]["problem"]
    assert "schema version 2" in found[4]["problem"]


def test_records_decoded_one_by_one_stay_in_order():
    packages = [PackageMessage(publisher_instance="i", package_id=name, kind=Kind.ADD) for name in "abc"]
    first, odd, last = map(record, packages)
    odd = NewRecord(payload=odd.payload, headers=(*odd.headers, ("further", "header")))
    rows = decoded(raw(first, odd, last), "package", record_columns("package", decode=True, payload=False)).to_pylist()
    assert [(row["offset"], row["id"], row["package"]["package_id"]) for row in rows] == [
        (1, "r", "a"), (2, "r", "b"), (3, "r", "c"),
    ]  # fmt: skip


def test_only_requested_fields_are_returned():
    batch = raw(record(PackageMessage(publisher_instance="i", package_id="p", kind=Kind.ADD, length=5)))
    package = pa.struct([("kind", pa.string()), ("length", pa.int64())])
    wanted = pa.schema([("package", package), ("offset", pa.int64())])
    assert decoded(batch, "package", wanted).to_pylist() == [{"package": {"kind": "ADD", "length": 5}, "offset": 1}]


def test_events_are_read_from_their_json():
    event = PackageEvent(kind="imported", publisher="p", package_id="x", offset=4, dedup_key="k", subscriber="s")
    rows = decoded(raw(event_record(event, 1, "p")), "event", record_columns("event", decode=True, payload=False))
    [row] = rows.to_pylist()
    assert (row["event"]["kind"], row["event"]["offset"], row["event"]["subscriber"]) == ("imported", 4, "s")
