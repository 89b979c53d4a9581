"""What a board can do with what is on its log and in its blob store: keep it, remove it, send it again."""

import tempfile
import time
from abc import ABC, abstractmethod
from dataclasses import replace
from pathlib import Path
from typing import Unpack

from callboard.actors.agent import Agent
from callboard.app.commanding import ANSWER_S, OrderOptions
from callboard.app.explaining import Explanation, explain
from callboard.app.opening import records_for_blobs
from callboard.app.publisher import Publisher
from callboard.app.resending import resend
from callboard.app.retention_gate import GatePolicy, RetentionGate, trim
from callboard.app.settings import BoardSettings
from callboard.app.status import member
from callboard.app.user import current_user
from callboard.app.verifying import Repair, Verified, compare, recover, repairs
from callboard.app.views import CommandResult, Package
from callboard.backends.blob_store import BlobStore
from callboard.backends.log import Log, Retention
from callboard.backends.paths import check_path
from callboard.content.collection import GRACE_MIN_S, GRACE_S, BlobCollection, collect
from callboard.errors import NotAnswered, RequestRefused

VERIFY_S = 600.0
"""How long a subscriber may take to read all that it has, once it has finished what it imports."""


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
        self, subscriber: str, paths: tuple[str, ...] = (), **options: Unpack[OrderOptions]
    ) -> CommandResult:
        """Have the subscriber list what its repository holds."""

    @abstractmethod
    async def viewer(self) -> Agent:
        """An agent that can be asked about the board."""

    @property
    @abstractmethod
    def blobs(self) -> BlobStore:
        """The open blob store."""

    async def explain(self, subscriber: str, path: str, *, timeout_s: float = ANSWER_S) -> Explanation:
        """Which package brought the path to the subscriber, or took it away, and what became of the newer ones.

        Raises ``RequestRefused`` for a subscriber that was never heard of, and for what is no path.
        """
        topics = self.settings.topics
        said = (await member(await self.viewer(), subscriber, timeout_s)).announcement
        return await explain(self.log, self.blobs, topics.package, topics.status, said, check_path(path))

    async def verify(self, subscriber: str, *paths: str, timeout_s: float = VERIFY_S) -> Verified:
        """Compare what a running subscriber has at and below the paths, or everywhere, with what the log says.

        Raises ``RequestRefused`` for a subscriber that was never heard of or cannot list its content, and
        ``NotAnswered`` if it does not do so in time.
        """
        scope = tuple(check_path(path) for path in paths)
        said = (await member(await self.viewer(), subscriber, timeout_s)).announcement
        told = await self.list_content(subscriber, scope, timeout_s=timeout_s)
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

    async def repair(
        self, subscriber: str, found: Verified, *, source: str | Path = "", dry_run: bool = False
    ) -> tuple[Repair, ...]:
        """Ship exactly what differs to this one subscriber: from ``source``, or else from the log's own packages.

        Raises as ``Publisher.publish``, and ``RequestRefused`` for content that is gone. Once it is imported, the next
        ``verify`` finds nothing to repair.
        """
        planned = tuple(repairs(found.differences))
        if dry_run or not planned:
            return planned
        with tempfile.TemporaryDirectory(prefix="callboard-repair-") as folder:
            if not source:
                wanted = {each.path: each.offset for each in found.differences if each.what != "extra"}
                source = Path(folder) / "content"
                await recover(self.log, self.blobs, self.settings.topics.package, wanted, source, Path(folder))
            return tuple([await self._repair(subscriber, each, source) for each in planned])

    async def _repair(self, subscriber: str, planned: Repair, source: str | Path) -> Repair:
        publisher = self.publisher(planned.publisher)
        if planned.kind == "DELETE":
            package = await publisher.delete(planned.paths, recipients=(subscriber,))
        else:
            package = await publisher.publish(source, planned.paths, deep=False, recipients=(subscriber,))
        return replace(planned, offset=package.offset)

    def retention_gate(self, policy: GatePolicy) -> RetentionGate:
        """What keeps packages on the log that somebody needs. To be used again: it remembers what it has read."""
        return RetentionGate(policy, self.settings.topics)

    async def resend(
        self, offset: int, *, to: tuple[str, ...] = (), force: bool = False, request_id: str = "", author: str = ""
    ) -> Package:
        """Ship the package at this offset once more, as a new one with the same content.

        Args:
            offset: of a package that adds, deletes or invalidates.
            to: only for these subscribers; for all if none is given.
            force: also if newer packages touch the same paths, whose content it then replaces.
            request_id: repeat a request under its id and it is shipped once.
            author: for the record; the user of this process if not given.

        Raises:
            RequestRefused: its content is gone, or newer packages touch the same paths.
            OffsetOutOfRange: there is no record at this offset.
            LogUnavailable: it could not be appended; repeat it with its id.
        """
        return await resend(
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

    async def collect_blobs(self, *, delete: bool, grace_s: float = GRACE_S) -> BlobCollection:
        """Find the blobs that no record on this log or in its archive refers to, and with ``delete`` remove them.

        Nothing but this log may refer to what is in the blob store. Safe beside publishers, as long as none of
        them takes longer than ``grace_s`` seconds to build a package. Raises ``ArchiveHole``, ``ArchiveDamaged`` and
        ``LogReplaced`` if it cannot be told what the archive needs.
        """
        if grace_s < GRACE_MIN_S:
            raise RequestRefused(f"a grace of {grace_s:g} s is too short; the least is {GRACE_MIN_S:g} s")
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

    async def trim(self, retention: Retention, gate: RetentionGate | None = None) -> dict[str, int]:
        """Remove from every topic what the retention allows and the gate does not hold; the new first offset of each.

        Raises ``RequestRefused`` when the gate cannot tell what is needed.
        """
        kept = await gate.keep_from(self.log, time.time_ns()) if gate is not None else {}
        return await trim(self.log, self.settings.topics, retention, kept)
