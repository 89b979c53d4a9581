"""Maintenance: keeps content correct, and the log and the blob store small."""

import asyncio
import tempfile
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from callboard.actors.publisher.fleet.following import is_elsewhere
from callboard.backends.log import Retention
from callboard.board.command.commands import list_content
from callboard.board.connect.opening import records_for_blobs
from callboard.board.context import BoardContext
from callboard.board.events.listeners import event_topics
from callboard.board.publisher import Publisher
from callboard.board.read.questions import member
from callboard.board.read.queues.queue_sizes import log_identity
from callboard.board.views import CommandResult
from callboard.content.collection import GRACE_S, BlobCollection, collect
from callboard.door.limits import ANSWER_S, DAYS_MAX
from callboard.door.questions import asked
from callboard.door.rules import checked, choice, instance_of, number, optional
from callboard.errors import NotAnswered, RequestRefused
from callboard.messages.distribution.fleet_mail import Liveness
from callboard.messages.distribution.topic_messages import DiscoveryMessage
from callboard.messages.headers import SEPARATOR

if TYPE_CHECKING:  # a board that is only read does not load these
    from callboard.board.care.retention_gate import GatePolicy, RetentionGate
    from callboard.board.care.verifying import Repair, Verified

VERIFY_S = 600.0
"""How long a subscriber may take to read its whole content, after it has finished its running import."""

LOOK_S = 2.0
"""How often to check that the awaited subscriber still runs."""


async def verify(board: BoardContext, subscriber: str, *paths: str, timeout_s: float = VERIFY_S) -> "Verified":
    """Compare a running subscriber's content at and below the paths, or all of it, with what the log says.

    Raises ``RequestRefused`` for a subscriber that is unknown or cannot list its content, and ``NotAnswered`` if it
    does not run, stops meanwhile, or takes longer than ``timeout_s`` seconds. What one of a site should have, the
    site's log says, which must be configured.
    """
    from callboard.board.care.verifying import compare

    scope = asked(subscriber=subscriber, paths=paths, timeout_s=timeout_s)["paths"]
    if SEPARATOR in subscriber:
        from callboard.board.care.verifying_at_site import verify_at_site

        return await verify_at_site(board, subscriber, scope, timeout_s)
    said = await _running(board, subscriber, timeout_s)
    result = await _listed(board, subscriber, scope, timeout_s)
    if result.accepted is None:
        raise NotAnswered(result.reason)
    if not result.accepted:
        raise RequestRefused(f"{subscriber} does not list its content: {result.reason}", code="declined")
    return await compare(board, said, result, scope)


async def _running(board: BoardContext, subscriber: str, timeout_s: float) -> DiscoveryMessage:
    """The last announcement of a subscriber that can list its content of this log. Raises as ``verify``."""
    found = await member(board, subscriber, timeout_s)
    said = found.announcement
    if found.liveness is not Liveness.LIVE:
        raise NotAnswered(
            f"{subscriber} is {found.liveness.name.lower()}, and only a running subscriber can list its content; "
            "start it, then verify again"
        )
    if is_elsewhere(said, await log_identity(board.log, board.topics.package)):
        raise RequestRefused(f"{subscriber} cannot be compared with this log: {said.reason}", code="mismatch")
    return said


async def _listed(board: BoardContext, subscriber: str, paths: tuple[str, ...], timeout_s: float) -> CommandResult:
    """The subscriber's answer; the wait ends when the subscriber does."""
    listing = asyncio.ensure_future(list_content(board, subscriber, paths, timeout_s=timeout_s))
    try:
        while not (await asyncio.wait({listing}, timeout=LOOK_S))[0]:
            await _running(board, subscriber, ANSWER_S)
        return listing.result()
    finally:
        listing.cancel()


async def repair(
    board: BoardContext, subscriber: str, found: "Verified", *, source: str | Path = "", dry_run: bool = False
) -> "tuple[Repair, ...]":
    """Ship exactly what differs to this subscriber alone: from ``source``, or from the log's own packages.

    Raises as ``Publisher.publish``, and ``RequestRefused`` for content that is gone. Once the repair is imported, the
    next ``verify`` finds no difference.
    """
    from callboard.board.care.verifying import Verified, recover, repairs

    asked(subscriber=subscriber, source=source, dry_run=dry_run)
    checked(RequestRefused, {"found": instance_of(Verified)}, {"found": found})
    planned = tuple(repairs(found.differences))
    if dry_run or not planned:
        return planned
    with tempfile.TemporaryDirectory(prefix="callboard-repair-") as folder:
        if not source:
            wanted = {each.path: each.offset for each in found.differences if each.what != "extra"}
            source = Path(folder) / "content"
            await recover(board, wanted, source, Path(folder))
        return tuple([await _repair(board, subscriber, each, source) for each in planned])


async def _repair(board: BoardContext, subscriber: str, planned: "Repair", source: str | Path) -> "Repair":
    publisher = Publisher(board, planned.publisher)
    if planned.kind == "DELETE":
        package = await publisher.delete(planned.paths, recipients=(subscriber,), replace_root=True)
    else:
        package = await publisher.publish(
            source, planned.paths, deep=False, source_name=planned.source, recipients=(subscriber,)
        )
    return replace(planned, offset=package.offset)


def retention_gate(board: BoardContext, policy: "GatePolicy") -> "RetentionGate":
    """The gate that keeps needed packages on the log. Reuse it: it remembers what it has read."""
    from callboard.board.care.retention_gate import GatePolicy, RetentionGate

    rule = instance_of(
        GatePolicy,
        kind=choice("none", "subscribers", "archive"),
        gone_days=optional(number(0, DAYS_MAX, above=True)),
        archive_tip=optional(instance_of(Path)),
    )
    policy = checked(RequestRefused, {"policy": rule}, {"policy": policy})["policy"]
    return RetentionGate(policy, board.topics)


async def collect_blobs(board: BoardContext, *, delete: bool, grace_s: float = GRACE_S) -> BlobCollection:
    """Find the blobs that no record on this log or in its archive refers to; with ``delete``, remove them.

    The blob store must belong to this log alone. Safe beside running publishers, as long as none takes longer than
    ``grace_s`` seconds to build a package. Raises ``ArchiveHole``, ``ArchiveDamaged`` or ``LogReplaced`` if the
    needs of the archive cannot be determined.
    """
    asked(delete=delete, grace_s=grace_s)
    topics, now_ns = board.topics, board.now_ns()
    return await collect(
        board.log,
        board.blobs,
        package=topics.package,
        status=topics.status,
        grace_s=grace_s,
        now_ns=now_ns,
        delete=delete,
        archived=records_for_blobs(board.settings, board.log),
    )


async def trim(board: BoardContext, retention: Retention, gate: "RetentionGate | None" = None) -> dict[str, int]:
    """Remove from every topic, that of distributed events included, what the retention allows and the gate does not
    hold; returns the new first offsets.

    Raises ``RequestRefused`` if the gate cannot determine what is needed.
    """
    from callboard.board.care.retention_gate import RetentionGate, trim

    asked(retention=retention)
    checked(RequestRefused, {"gate": optional(instance_of(RetentionGate))}, {"gate": gate})
    now_ns = board.now_ns()
    kept = await gate.keep_from(board.log, now_ns) if gate is not None else {}
    by_age = Retention(older_than_s=retention.older_than_s, above_bytes=retention.above_bytes)
    events = {topic: await board.log.trim(topic, by_age) for topic in await event_topics(board)}
    return await trim(board.log, board.topics, retention, kept, now_ns) | events
