"""Sends a package again: appends a new one with the same content, for all subscribers or for some."""

from dataclasses import replace

from callboard.backends.blob_store import BlobStore
from callboard.backends.log import Log
from callboard.backends.logs.walk import between
from callboard.backends.repositories.paths import Trees
from callboard.board.connect.user import current_user
from callboard.board.context import BoardContext
from callboard.board.read.known_names import demand_subscribers
from callboard.board.read.log.log_records import opened, record_at
from callboard.board.read.status.status import members
from callboard.board.views import Package
from callboard.door.limits import ANSWER_S
from callboard.door.questions import asked
from callboard.errors import BlobMissing, CallboardError, PackageCorrupt, RequestRefused, SchemaTooNew, Undecodable
from callboard.messages.distribution.topic_messages import Kind, PackageMessage
from callboard.messages.headers import new_record, open_record

LATER_SHOWN = 5
"""How many later packages a refusal names."""


async def resend(
    board: BoardContext,
    offset: int,
    *,
    to: tuple[str, ...] = (),
    expect: bool = False,
    force: bool = False,
    request_id: str = "",
    author: str = "",
) -> Package:
    """Ship the package at this offset once more, as a new one with the same content.

    Args:
        board: the open board.
        offset: of a package that adds, deletes or invalidates.
        to: the only recipients; all subscribers if empty.
        expect: accept recipients that are not known yet.
        force: send even if newer packages touch the same paths; their content is replaced.
        request_id: makes the request safe to repeat: under one id it is shipped once.
        author: for the record; the user of this process if not given.

    Raises:
        RequestRefused: its content is gone, or newer packages touch the same paths.
        OffsetOutOfRange: there is no record at this offset.
        LogUnavailable: it could not be appended; repeat it with the same id.
    """
    to = asked(offset=offset, to=to, expect=expect, force=force, request_id=request_id, author=author)["to"]
    absent = demand_subscribers(await members(await board.viewer(), "", ANSWER_S), to, expect=expect) if to else ()
    package = await append_again(board, offset, to, author or current_user(), request_id, force=force)
    return replace(package, expects=absent)


async def append_again(
    board: BoardContext, offset: int, to: tuple[str, ...], author: str, request_id: str = "", *, force: bool = False
) -> Package:
    """Append the package again, and return the result; see ``resend``."""
    log, topic = board.log, board.topics.package
    record = await record_at(log, topic, offset)
    message = opened(record)
    if isinstance(message, CallboardError):
        raise RequestRefused(f"{message}; publish its content again with --full instead", code="gone")
    if not isinstance(message, PackageMessage) or message.kind is Kind.TEST:
        raise RequestRefused(
            f"offset {offset} has no content to send again; choose a package that has some", code="empty"
        )
    if not force and (later := await _later(log, topic, offset, message)):
        more = f" and {len(later) - LATER_SHOWN} more" if len(later) > LATER_SHOWN else ""
        raise RequestRefused(
            f"newer packages, at offsets {', '.join(map(str, later[:LATER_SHOWN]))}{more}, touch the same paths, "
            "which this one would overwrite; add --force to do so, or publish the current content",
            code="overtaken",
        )
    await renew(board.blobs, message)
    request_id = request_id or board.new_id()
    package_id = f"{message.package_id}.{request_id}"
    again = replace(
        message,
        package_id=package_id,
        publisher_instance=f"resent by {author}" if author else "resent",
        user=author,
        request_id=request_id,
        recipients=to,
    )
    new = new_record(
        again,
        record_id=package_id,
        time_ns=board.now_ns(),
        producer=f"resend/{author}",
        key=package_id,
        cause=record.header("id"),
    )
    [appended] = await log.append(topic, [new])
    return Package(
        package_id, appended, message.kind.name, message.publisher, message.paths,
        length=message.fetched_bytes, entries=message.entries,
    )  # fmt: skip


def touch(one: PackageMessage, other: PackageMessage) -> bool:
    """Whether a path of one lies at, above or below a path of the other."""
    return Trees(one.paths).touch(other.paths)


async def _later(log: Log, topic: str, offset: int, message: PackageMessage) -> list[int]:
    """The offsets of later packages that change what this one brings; undecodable ones are included, as they may."""
    later = []
    async for record in between(log, topic, offset + 1, (await log.bounds(topic)).end):
        try:
            other = open_record(record, PackageMessage)
        except (Undecodable, SchemaTooNew):
            later.append(record.offset)
            continue
        if other.kind in (Kind.ADD, Kind.DELETE) and touch(message, other):
            later.append(record.offset)
    return later


async def renew(blobs: BlobStore, message: PackageMessage) -> None:
    """Restart the grace period of every blob, as a publisher does; this also verifies that all of them still exist."""
    digests = [*message.blobs, *filter(None, [message.content_ref])]
    for number, digest in enumerate(digests, start=1):
        try:
            await blobs.put(digest, iter(()))  # only the empty file has this digest, and it is never a blob
        except (PackageCorrupt, BlobMissing):
            raise RequestRefused(
                f"blob {digest}, {number} of {len(digests)} that this package needs, is gone from the blob store, or "
                "damaged; restore it from a backup, or publish the content again with --full",
                code="gone",
            ) from None
