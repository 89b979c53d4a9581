"""What a board can do with what is on its log and in its blob store: keep it, remove it, send it again."""

import time
from abc import ABC, abstractmethod

from callboard.actors.agent import Agent
from callboard.app.commanding import ANSWER_S
from callboard.app.explaining import Explanation, explain
from callboard.app.resending import resend
from callboard.app.retention_gate import GatePolicy, RetentionGate, trim
from callboard.app.settings import BoardSettings
from callboard.app.status import member
from callboard.app.user import current_user
from callboard.app.views import Package
from callboard.backends.blob_store import BlobStore
from callboard.backends.log import Log, Retention
from callboard.backends.paths import check_path
from callboard.content.collection import GRACE_MIN_S, GRACE_S, BlobCollection, collect
from callboard.errors import RequestRefused


class ContentCare(ABC):
    """The part of a board that looks after content; ``Callboard`` is the board."""

    settings: BoardSettings

    @property
    @abstractmethod
    def log(self) -> Log:
        """The open log."""

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
        """Find the blobs that no record on this log refers to, and with ``delete`` remove them.

        Nothing but this log may refer to what is in the blob store. Safe beside publishers, as long as none of
        them takes longer than ``grace_s`` seconds to build a package.
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
        )

    async def trim(self, retention: Retention, gate: RetentionGate | None = None) -> dict[str, int]:
        """Remove from every topic what the retention allows and the gate does not hold; the new first offset of each.

        Raises ``RequestRefused`` when the gate cannot tell what is needed.
        """
        kept = await gate.keep_from(self.log, time.time_ns()) if gate is not None else {}
        return await trim(self.log, self.settings.topics, retention, kept)
