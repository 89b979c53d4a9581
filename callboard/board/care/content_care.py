"""What a board can do with what is on its log and in its blob store: keep it, remove it, send it again."""

import asyncio
import tempfile
import time
from abc import ABC, abstractmethod
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Unpack

from callboard.actors.core.agent import Agent
from callboard.actors.publisher.fleet.following import is_elsewhere
from callboard.backends.blob_store import BlobStore
from callboard.backends.log import Log, Retention
from callboard.board.command.commanding import ANSWER_S, CommandOptions
from callboard.board.connect.opening import records_for_blobs
from callboard.board.connect.settings import BoardSettings
from callboard.board.connect.user import current_user
from callboard.board.publisher import Publisher
from callboard.board.read.known_names import demand_subscribers
from callboard.board.read.queues.queue_sizes import log_identity
from callboard.board.read.status.status import member, members
from callboard.board.views import CommandResult, Package
from callboard.content.collection import GRACE_S, BlobCollection, collect
from callboard.door.limits import DAYS_MAX
from callboard.door.questions import asked
from callboard.door.rules import checked, choice, instance_of, number, optional
from callboard.errors import NotAnswered, RequestRefused
from callboard.messages.distribution.mailbox import Liveness, Member
from callboard.messages.distribution.topic_messages import DiscoveryMessage

if TYPE_CHECKING:  # what a board that is only looked at does not need is imported where it is used
    from callboard.board.care.retention_gate import GatePolicy, RetentionGate
    from callboard.board.care.verifying import Repair, Verified
    from callboard.board.read.explaining import Explanation

VERIFY_S = 600.0
"""How long a subscriber may take to read all that it has, once it has finished what it imports."""

LOOK_S = 2.0
"""How often it is looked at whether one that is waited for still runs."""


class ContentCare(ABC):
    """The part of a board that looks after content; ``Callboard`` is the board."""

    settings: BoardSettings

    @property
    @abstractmethod
    def log(self) -> Log:
        """The open log."""

    @abstractmethod
    def publisher(self, name: str = "main") -> Publisher:
        """The publisher of this name."""

    @abstractmethod
    async def list_content(
        self, subscriber: str, paths: tuple[str, ...] = (), **options: Unpack[CommandOptions]
    ) -> CommandResult:
        """Have the subscriber list what its repository holds."""

    @abstractmethod
    async def viewer(self) -> Agent:
        """An agent that can be asked about the board."""

    @property
    @abstractmethod
    def blobs(self) -> BlobStore:
        """The open blob store."""

    async def _member(self, subscriber: str, timeout_s: float) -> Member:
        log_id = await log_identity(self.log, self.settings.topics.package)
        return await member(await self.viewer(), subscriber, log_id, timeout_s)

    async def explain(self, subscriber: str, path: str, *, timeout_s: float = ANSWER_S) -> "Explanation":
        """Which package brought the path to the subscriber, or took it away, and what became of the newer ones.

        Raises ``RequestRefused`` for a subscriber that was never heard of, and for what is no path.
        """
        from callboard.board.read.explaining import explain

        asked(subscriber=subscriber, path=path, timeout_s=timeout_s)
        topics = self.settings.topics
        said = (await self._member(subscriber, timeout_s)).announcement
        return await explain(self.log, self.blobs, topics.package, topics.status, said, path)

    async def verify(self, subscriber: str, *paths: str, timeout_s: float = VERIFY_S) -> "Verified":
        """Compare what a running subscriber has at and below the paths, or everywhere, with what the log says.

        Raises ``RequestRefused`` for a subscriber that was never heard of or cannot list its content, and
        ``NotAnswered`` if it does not run, or no longer, or does not do so in time.
        """
        from callboard.board.care.verifying import compare

        scope = asked(subscriber=subscriber, paths=paths, timeout_s=timeout_s)["paths"]
        said = await self._running(subscriber, timeout_s)
        told = await self._listed(subscriber, scope, timeout_s)
        if told.accepted is None:
            raise NotAnswered(told.reason)
        if not told.accepted:
            raise RequestRefused(f"{subscriber} does not list its content: {told.reason}")
        topics = self.settings.topics
        return await compare(
            self.log,
            self.blobs,
            topics.package,
            topics.status,
            said,
            position=told.position,
            listing=told.listing_ref,
            paths=scope,
        )

    async def _running(self, subscriber: str, timeout_s: float) -> DiscoveryMessage:
        """The last word of a subscriber that can list what it has of this log. Raises as ``verify``."""
        found = await self._member(subscriber, timeout_s)
        said = found.announcement
        if found.liveness is not Liveness.LIVE:
            raise NotAnswered(
                f"{subscriber} is {found.liveness.name.lower()}, and only a subscriber that runs can list what it has; "
                "start it, then verify it again"
            )
        if is_elsewhere(said, await log_identity(self.log, self.settings.topics.package)):
            raise RequestRefused(f"{subscriber} cannot be compared with this log: {said.reason}")
        return said

    async def _listed(self, subscriber: str, paths: tuple[str, ...], timeout_s: float) -> CommandResult:
        """What it answers; it is not waited for any longer than it runs."""
        listing = asyncio.ensure_future(self.list_content(subscriber, paths, timeout_s=timeout_s))
        try:
            while not (await asyncio.wait({listing}, timeout=LOOK_S))[0]:
                await self._running(subscriber, ANSWER_S)
            return listing.result()
        finally:
            listing.cancel()

    async def repair(
        self, subscriber: str, found: "Verified", *, source: str | Path = "", dry_run: bool = False
    ) -> "tuple[Repair, ...]":
        """Ship exactly what differs to this one subscriber: from ``source``, or else from the log's own packages.

        Raises as ``Publisher.publish``, and ``RequestRefused`` for content that is gone. Once it is imported, the next
        ``verify`` finds nothing to repair.
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
                await recover(self.log, self.blobs, self.settings.topics.package, wanted, source, Path(folder))
            return tuple([await self._repair(subscriber, each, source) for each in planned])

    async def _repair(self, subscriber: str, planned: "Repair", source: str | Path) -> "Repair":
        publisher = self.publisher(planned.publisher)
        if planned.kind == "DELETE":
            package = await publisher.delete(planned.paths, recipients=(subscriber,), replace_root=True)
        else:
            package = await publisher.publish(
                source, planned.paths, deep=False, source_name=planned.source, recipients=(subscriber,)
            )
        return replace(planned, offset=package.offset)

    def retention_gate(self, policy: "GatePolicy") -> "RetentionGate":
        """What keeps packages on the log that somebody needs. To be used again: it remembers what it has read."""
        from callboard.board.care.retention_gate import GatePolicy, RetentionGate

        rule = instance_of(
            GatePolicy,
            kind=choice("none", "subscribers", "archive"),
            gone_days=optional(number(0, DAYS_MAX, above=True)),
        )
        policy = checked(RequestRefused, {"policy": rule}, {"policy": policy})["policy"]
        return RetentionGate(policy, self.settings.topics)

    async def resend(
        self,
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
            offset: of a package that adds, deletes or invalidates.
            to: only for these subscribers; for all if none is given.
            expect: also for such as nobody has heard of yet.
            force: also if newer packages touch the same paths, whose content it then replaces.
            request_id: repeat a request under its id and it is shipped once.
            author: for the record; the user of this process if not given.

        Raises:
            RequestRefused: its content is gone, or newer packages touch the same paths.
            OffsetOutOfRange: there is no record at this offset.
            LogUnavailable: it could not be appended; repeat it with its id.
        """
        from callboard.board.command.resending import resend

        to = asked(offset=offset, to=to, expect=expect, force=force, request_id=request_id, author=author)["to"]
        absent = demand_subscribers(await members(await self.viewer(), "", ANSWER_S), to, expect=expect) if to else ()
        package = await resend(
            self.log,
            self.blobs,
            self.settings.topics.package,
            offset,
            recipients=to,
            author=author or current_user(),
            request_id=request_id,
            force=force,
            now_ns=time.time_ns(),
        )
        return replace(package, expects=absent)

    async def collect_blobs(self, *, delete: bool, grace_s: float = GRACE_S) -> BlobCollection:
        """Find the blobs that no record on this log or in its archive refers to, and with ``delete`` remove them.

        Nothing but this log may refer to what is in the blob store. Safe beside publishers, as long as none of
        them takes longer than ``grace_s`` seconds to build a package. Raises ``ArchiveHole``, ``ArchiveDamaged`` and
        ``LogReplaced`` if it cannot be told what the archive needs.
        """
        asked(delete=delete, grace_s=grace_s)
        topics, now_ns = self.settings.topics, time.time_ns()
        return await collect(
            self.log,
            self.blobs,
            package=topics.package,
            status=topics.status,
            grace_s=grace_s,
            now_ns=now_ns,
            delete=delete,
            archived=records_for_blobs(self.settings, self.log),
        )

    async def trim(self, retention: Retention, gate: "RetentionGate | None" = None) -> dict[str, int]:
        """Remove from every topic what the retention allows and the gate does not hold; the new first offset of each.

        Raises ``RequestRefused`` when the gate cannot tell what is needed.
        """
        from callboard.board.care.retention_gate import RetentionGate, trim

        asked(retention=retention)
        checked(RequestRefused, {"gate": optional(instance_of(RetentionGate))}, {"gate": gate})
        now_ns = time.time_ns()
        kept = await gate.keep_from(self.log, now_ns) if gate is not None else {}
        return await trim(self.log, self.settings.topics, retention, kept, now_ns)
