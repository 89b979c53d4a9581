"""Histories for benchmarks: packages on a log, and the same content as operations of a repository."""

import hashlib
import random
import tempfile
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

from callboard.backends.blob_store import BlobStore
from callboard.backends.log import Log
from callboard.backends.repository import Entry, EntryKind, Operation
from callboard.content.importing.apply import operations
from callboard.content.package_format.draft import draft
from callboard.messages.distribution.topic_messages import (
    DiscoveryMessage,
    Kind,
    PackageMessage,
    State,
    SubscriberConfiguration,
    SubscriberState,
)
from callboard.messages.headers import new_record
from callboard.messages.record import NewRecord

PUBLISHER = "site"
APPEND_RECORDS = 500
"""Records appended at a time."""
PAGES_A_FOLDER = 100


class OnePage:
    """A source with one file, and the folders that lead to it."""

    def __init__(self, path: str, content: bytes) -> None:
        self._path, self._content = path, content

    def entries(self, path: str, deep: bool) -> Iterator[Entry]:  # noqa: ARG002 - a page has nothing below it
        """See ``callboard.backends.repository.Source``."""
        if path == self._path:
            yield Entry(path, EntryKind.FILE, 0o644, len(self._content), open=lambda: iter((self._content,)))
        else:
            yield Entry(path, EntryKind.FOLDER, 0o755)


def page_path(page: int) -> str:
    return f"/pages/{page // PAGES_A_FOLDER}/{page}.html"


def page_package(number: int, page: int, size: int) -> PackageMessage:
    """The package with that number: a page of that many bytes; a large page goes to the blob store."""
    path, content = page_path(page), page_content(number, size)
    with draft(OnePage(path, content), [path], (), Path(tempfile.gettempdir())) as made:
        return PackageMessage(
            publisher_instance="benchmark", publisher=PUBLISHER, package_id=f"{number:032x}", kind=Kind.ADD,
            length=made.length, content=b"".join(made.stream()), paths=made.paths, content_digest=made.digest,
            entries=made.entries, blobs=tuple(large.digest for large in made.large),
        )  # fmt: skip


def page_content(number: int, size: int) -> bytes:
    """The content of the package with that number."""
    return random.Random(number).randbytes(size)


def small_records(count: int, time_ns: int) -> Iterator[NewRecord]:
    """Packages whose whole content is in the blob store, so that a million of them fit on a disk.

    They differ in one number of 32 digits, which is their id, names their page, and twice makes the digest of their
    content. So only the first one is encoded.
    """
    zero = "0" * 32
    first = record_of(
        PackageMessage(
            publisher_instance="benchmark", publisher=PUBLISHER, package_id=zero, kind=Kind.ADD, length=10_000,
            paths=(f"/pages/{zero}.html",), content_ref=zero * 2, content_digest=zero * 2, entries=1, user="ann",
        ),
        time_ns,
    )
    for number in range(count):
        name = f"{number:032x}"
        headers = tuple((key, name if value == zero else value) for key, value in first.headers)
        yield NewRecord(payload=first.payload.replace(zero.encode(), name.encode()), headers=headers)


def record_of(message: PackageMessage, time_ns: int) -> NewRecord:
    return new_record(message, record_id=message.package_id, time_ns=time_ns, producer=f"{PUBLISHER}/benchmark")


async def put_packages(log: Log, topic: str, messages: Iterable[PackageMessage], time_ns: int) -> None:
    """Append the packages, in order."""
    await put_records(log, topic, (record_of(message, time_ns) for message in messages))


async def put_records(log: Log, topic: str, records: Iterable[NewRecord]) -> None:
    """Append the records, in order."""
    await log.ensure(topic)
    waiting = list[NewRecord]()
    for record in records:
        waiting.append(record)
        if len(waiting) == APPEND_RECORDS:
            await log.append(topic, waiting)
            waiting = []
    if waiting:
        await log.append(topic, waiting)


async def put_blobs(blobs: BlobStore, contents: Iterable[bytes]) -> None:
    for content in contents:
        await blobs.put(hashlib.sha256(content).hexdigest(), [content])


def batches(messages: Sequence[PackageMessage], size: int) -> list[list[Operation]]:
    """The operations on a repository, in transactions of that many packages."""
    return [
        [operation for message in messages[at : at + size] for operation in operations(message, message.content, {})]
        for at in range(0, len(messages), size)
    ]


def announcements(log_id: str, offsets: dict[str, int], time_ns: int) -> list[NewRecord]:
    """Announcements of subscribers with these names, at these offsets of the package topic."""
    configuration = SubscriberConfiguration(editable=True, max_retries=-1)
    messages = [
        DiscoveryMessage(
            subscriber_instance=f"{name}-instance", subscriber=name, configuration=configuration, state=State.IMPORTING,
            states=(SubscriberState(publisher=PUBLISHER, offset=offset),), offset=offset, log_id=log_id,
            time_ns=time_ns, since_ns=time_ns,
        )
        for name, offset in offsets.items()
    ]
    return [
        new_record(message, record_id=message.subscriber, time_ns=time_ns, producer=message.subscriber)
        for message in messages
    ]
