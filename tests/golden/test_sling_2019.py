"""What the original's writer put on its log in 2019, made by hand from the field numbers of its schema."""

import pytest

from callboard.errors import Undecodable
from callboard.messages.codec import decode, encode
from callboard.messages.distribution.topic_messages import (
    ClearCommand,
    CommandMessage,
    DiscoveryMessage,
    Kind,
    PackageMessage,
    PackageStatusMessage,
    PingMessage,
    Status,
    SubscriberConfiguration,
    SubscriberState,
)
from callboard.messages.event import Event
from callboard.messages.headers import open_record
from callboard.messages.record import NewRecord


def varint(value: int) -> bytes:
    value %= 2**64  # negative numbers are written as if they were 64 bits wide
    groups = []
    while value > 127:
        groups.append(value % 128 + 128)
        value //= 128
    return bytes([*groups, value])


def message(*pairs: tuple[int, int | str | bytes]) -> bytes:
    """A message of these fields, as number and value; inner messages are given as their bytes."""
    written = b""
    for number, value in pairs:
        if isinstance(value, int):
            written += varint(number << 3) + varint(value)
        else:
            content = value.encode() if isinstance(value, str) else value
            written += varint(number << 3 | 2) + varint(len(content)) + content
    return written


ADD = (
    (1, "pub-1"), (2, "site"), (3, "dstrpck-1555-77"), (4, 0), (5, 3), (6, b"\x00\xff\x01"),
    (7, "/a"), (7, "/b"), (8, "/b"), (11, "journal"), (12, "ada"),
)  # fmt: skip

WRITTEN = [
    pytest.param(
        "2",
        message(*ADD),
        PackageMessage(
            publisher_instance="pub-1",
            publisher="site",
            package_id="dstrpck-1555-77",
            kind=Kind.ADD,
            length=3,
            content=b"\x00\xff\x01",
            paths=("/a", "/b"),
            deep_paths=("/b",),
            format="journal",
            user="ada",
        ),
        id="an inline package",
    ),
    pytest.param(
        "2",
        message((1, "pub-1"), (2, "site"), (3, "p-2"), (4, 0), (5, 9_000_000), (7, "/"), (10, "r-9"), (11, "sling")),
        PackageMessage(
            publisher_instance="pub-1",
            publisher="site",
            package_id="p-2",
            kind=Kind.ADD,
            length=9_000_000,
            paths=("/",),
            content_ref="r-9",
            format="sling",
        ),
        id="a package in the blob store",
    ),
    pytest.param(
        "2",
        message((1, "pub-1"), (2, "site"), (3, "p-3"), (4, 1), (7, "/gone"), (11, "journal")),
        PackageMessage(
            publisher_instance="pub-1",
            publisher="site",
            package_id="p-3",
            kind=Kind.DELETE,
            paths=("/gone",),
            format="journal",
        ),
        id="a deletion",
    ),
    pytest.param(
        "2",
        message((1, "seeder"), (3, "p-4"), (4, 2), (11, "seeder")),
        PackageMessage(publisher_instance="seeder", package_id="p-4", kind=Kind.TEST, format="seeder"),
        id="a seeding message, which has no publisher",
    ),
    pytest.param(
        "3",
        message((1, "sub-1"), (2, "edge"), (3, "site"), (4, 2**40), (5, 0)),
        PackageStatusMessage(
            subscriber_instance="sub-1",
            subscriber="edge",
            publisher="site",
            offset=2**40,
            status=Status.REMOVED_FAILED,
        ),
        id="a status",
    ),
    pytest.param(
        "1",
        message(
            (1, "sub-1"),
            (2, "edge"),
            (3, message((1, "site"), (2, -1))),
            (3, message((1, "news"), (2, 0), (3, 2))),
            (4, message((1, 0), (2, -1))),
        ),
        DiscoveryMessage(
            subscriber_instance="sub-1",
            subscriber="edge",
            states=(
                SubscriberState(publisher="site", offset=-1),
                SubscriberState(publisher="news", offset=0, retries=2),
            ),
            configuration=SubscriberConfiguration(editable=False, max_retries=-1),
        ),
        id="an announcement",
    ),
    pytest.param(
        "4",
        message((1, "sub-1"), (2, "edge"), (3, message((1, 0))), (4, "site")),
        CommandMessage(subscriber_instance="sub-1", subscriber="edge", clear=ClearCommand(offset=0), publisher="site"),
        id="a clear command",
    ),
    pytest.param(
        "4",
        message((1, "sub-1"), (2, "edge")),
        CommandMessage(subscriber_instance="sub-1", subscriber="edge"),
        id="a command to do nothing",
    ),
    pytest.param("5", b"", PingMessage(), id="a ping"),
]


@pytest.mark.proves("R5")
@pytest.mark.parametrize(("number", "written", "event"), WRITTEN)
def test_messages_of_the_original_are_read(number: str, written: bytes, event: Event) -> None:
    record = NewRecord(payload=written, headers=(("type", number), ("version", "1"))).at(0, 0)

    assert open_record(record, type(event)) == event


@pytest.mark.parametrize(("number", "written", "event"), WRITTEN)
def test_messages_are_written_in_the_bytes_of_the_original(number: str, written: bytes, event: Event) -> None:
    assert encode(event) == written


REQUIRED = {
    PackageMessage: {1, 3, 4, 11},
    PackageStatusMessage: {1, 2, 3, 4, 5},
    DiscoveryMessage: {1, 2, 4},
    CommandMessage: {1, 2},
    SubscriberState: {1, 2},
    SubscriberConfiguration: {1, 2},
    ClearCommand: {1},
}
"""The numbers of the fields without which the original could not read a message."""

EMPTIEST = [
    PackageMessage(publisher_instance="", package_id="", kind=Kind.ADD),
    PackageStatusMessage(subscriber_instance="", subscriber="", publisher="", offset=0, status=Status.REMOVED_FAILED),
    DiscoveryMessage(
        subscriber_instance="",
        subscriber="",
        configuration=SubscriberConfiguration(editable=False, max_retries=0),
    ),
    CommandMessage(subscriber_instance="", subscriber=""),
    SubscriberState(publisher="", offset=0),
    SubscriberConfiguration(editable=False, max_retries=0),
    ClearCommand(offset=0),
]


def split(written: bytes) -> list[tuple[int, bytes]]:
    """The fields of a message of small numbers and short texts: number and bytes of each."""
    found = []
    while written:
        length = 2 if written[0] % 8 == 0 else 2 + written[1]
        found.append((written[0] >> 3, written[:length]))
        written = written[length:]
    return found


@pytest.mark.parametrize("event", EMPTIEST, ids=lambda event: type(event).__name__)
def test_fields_that_the_original_required_are_always_written_and_required(event: Event) -> None:
    parts = split(encode(event))

    assert {number for number, _ in parts} == REQUIRED[type(event)]
    for left_out, _ in parts:
        with pytest.raises(Undecodable, match="is missing"):
            decode(type(event), b"".join(part for number, part in parts if number != left_out))
