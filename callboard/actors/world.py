"""The world of an agent: carries out its actors' effects through the backends' contracts."""

import asyncio
import shutil
from collections.abc import AsyncIterator, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import asdict
from pathlib import Path
from typing import Any

from callboard.actors.decision import Perform
from callboard.actors.effects import (
    Append,
    BuildPackage,
    CollectBlobs,
    FindBounds,
    ImportPackages,
    LogRead,
    OpenRepository,
    ReadLog,
    RunHook,
    SaveLedger,
    SurveyRepository,
    TopicBounds,
)
from callboard.actors.hooks import Hook, Hooks
from callboard.backends.blob_store import BlobStore
from callboard.backends.disk import disk_errors
from callboard.backends.log import Log
from callboard.backends.repositories.folder_source import FolderSource
from callboard.backends.repository import Attempting, Repository
from callboard.content.collection import Archived, collect
from callboard.content.receive import operations, receive_all
from callboard.content.ship import Received, build
from callboard.content.survey import survey
from callboard.errors import BlobUnavailable, RepositoryUnavailable, Undecodable
from callboard.messages import codec
from callboard.messages.distribution import Kind, PackageMessage
from callboard.messages.ledger import Ledger
from callboard.messages.mailbox import DistributeRequest

BEFORE_CONTENT = (Hook.BEFORE_IMPORT, Hook.ON_INVALIDATE)
"""The hooks that are called between the storing of the attempt and the import."""


class AgentWorld:
    """One agent's access to the log, the blob store and, for a subscriber, the repository.

    Args:
        log: shared by all agents of a process, or this agent's own if ``owned``.
        blobs: likewise.
        spool: a folder for temporary files; a subscriber's is its own, and there only while it is needed.
        repository: where a subscriber imports to.
        hooks: what a subscriber has called around an import.
        exclude: file name patterns that a publisher leaves out.
        max_package_bytes: what the files of a package that a publisher builds may have together.
        archived: the records of an archive, whose blobs are not to be collected.
        owned: whether ``close`` closes the log and the blob store too.
    """

    def __init__(
        self,
        log: Log,
        blobs: BlobStore,
        spool: Path,
        *,
        repository: Repository | None = None,
        hooks: Hooks | None = None,
        exclude: tuple[str, ...] = (),
        max_package_bytes: int | None = None,
        archived: Archived | None = None,
        owned: bool = False,
    ) -> None:
        self._log = log
        self._blobs = blobs
        self._spool = spool
        self._repository = repository
        self._hooks = hooks
        self._exclude = exclude
        self._max_package_bytes = max_package_bytes
        self._archived = archived
        self._owned = owned

    async def perform(self, effect: Perform) -> Any:  # noqa: PLR0911 - one line an effect
        """The result that the effect's description promises."""
        match effect:
            case ReadLog():
                return await self._read(effect)
            case FindBounds(topic=topic):
                return await self._bounds(topic)
            case Append(topic=topic, records=records):
                return tuple(await self._log.append(topic, records))
            case BuildPackage(request=request):
                return await self._build(request)
            case CollectBlobs(package, status, grace_s, now_ns):
                return await collect(
                    self._log, self._blobs, package=package, status=status, grace_s=grace_s, now_ns=now_ns, delete=True,
                    archived=self._archived,
                )  # fmt: skip
            case SurveyRepository(paths=paths):
                return await survey(self._held(), self._blobs, paths)
            case OpenRepository():
                return await self._open_repository()
            case SaveLedger(ledger=ledger, durable=durable):
                return await self._held().save(codec.encode(ledger), durable)
            case ImportPackages():
                return await self._import(effect)
            case RunHook(due=due) if self._hooks is not None:
                return await self._hooks.call(Hook.AFTER_IMPORT, due, due.offset, due.attempts)
            case _:
                raise AssertionError(f"nobody carries out {type(effect).__name__}")

    async def close(self) -> None:
        """Release the repository, and what else this world owns, whatever fails on the way."""
        async with AsyncExitStack() as stack:
            if self._owned:
                stack.push_async_callback(self._log.close)
                stack.push_async_callback(self._blobs.close)
            if self._repository is not None:
                stack.push_async_callback(self._repository.close)

    async def _bounds(self, topic: str) -> TopicBounds:
        identity = await self._log.identity(topic)
        first, end = await self._log.bounds(topic)
        return TopicBounds(identity, first, end)

    async def _read(self, effect: ReadLog) -> LogRead:
        topic, start = effect.topic, effect.start
        identity = await self._log.identity(topic)
        records = await self._log.read(topic, start, effect.max_records, effect.max_bytes)
        if not records and effect.wait_s > 0 and await self._log.wait(topic, start, effect.wait_s):
            records = await self._log.read(topic, start, effect.max_records, effect.max_bytes)
        if records:
            return LogRead(identity, tuple(records), records[-1].offset + 1)
        # No record, yet the end may lie further on, behind a gap. The end is asked for before the last look, or a
        # record appended between the two would be passed over.
        end = (await self._log.bounds(topic)).end
        records = await self._log.read(topic, start, effect.max_records, effect.max_bytes)
        return LogRead(identity, tuple(records), records[-1].offset + 1 if records else max(start, end))

    async def _build(self, request: DistributeRequest) -> PackageMessage:
        source = FolderSource(Path(request.source or "/"), exclude=self._exclude)
        shipment = await build(
            request.kind,
            source,
            request.paths,
            request.deep_paths,
            blobs=self._blobs,
            spool=self._spool,
            max_bytes=self._max_package_bytes,
        )
        return PackageMessage(
            publisher_instance="",
            publisher="",
            package_id="",
            kind=request.kind,
            user=request.user,
            metadata=request.metadata,
            request_id=request.request_id,
            **asdict(shipment),
        )

    # The subscriber's repository.

    def _held(self) -> Repository:
        assert self._repository is not None, "only a subscriber's world has a repository"
        return self._repository

    async def _open_repository(self) -> Ledger | None:
        stored = await self._held().open()
        await asyncio.to_thread(shutil.rmtree, self._spool, ignore_errors=True)  # what a killed importer left
        try:
            return codec.decode(Ledger, stored) if stored else None
        except Undecodable as error:
            raise RepositoryUnavailable(
                f"the repository's ledger is none that this version can read ({error}); upgrade callboard if a newer "
                "version wrote it, else restore the repository from a backup, or choose an empty one"
            ) from error

    async def _import(self, effect: ImportPackages) -> None:
        repository, before, after = self._held(), codec.encode(effect.attempt), codec.encode(effect.ledger)
        hooked = self._hooks is not None and any(map(self._hooks.has, BEFORE_CONTENT))
        if isinstance(repository, Attempting) and not hooked and not any(map(_has_blobs, effect.packages)):
            at_hand = [Received(message, message.content or None, {}) for message in effect.packages]
            await repository.attempt(before, operations(at_hand), after)
            return
        await repository.save(before, durable=False)
        if self._hooks is not None:
            for offset, message in zip(effect.offsets, effect.packages, strict=True):
                hook = Hook.ON_INVALIDATE if message.kind is Kind.INVALIDATE else Hook.BEFORE_IMPORT
                alone = effect.attempt.attempt_offset == offset  # tries together count against none of them
                await self._hooks.call(hook, message, offset, effect.attempt.attempts if alone else 1)
        # The repository explains its own errors, so whatever is left comes from reading what was fetched.
        with disk_errors(BlobUnavailable, self._spool):
            async with (
                self._spooled(effect.packages),
                receive_all(effect.packages, self._blobs, self._spool, effect.parallel) as received,
            ):
                await repository.apply(operations(received), after)

    @asynccontextmanager
    async def _spooled(self, messages: Sequence[PackageMessage]) -> AsyncIterator[None]:
        """Have the spool only while something may be downloaded, so that nothing is left whenever the agent ends."""
        if not any(map(_has_blobs, messages)):
            yield
            return
        with disk_errors(RepositoryUnavailable, self._spool):
            self._spool.mkdir(mode=0o700, parents=True, exist_ok=True)
        try:
            yield
        finally:
            await asyncio.to_thread(shutil.rmtree, self._spool, ignore_errors=True)


def _has_blobs(message: PackageMessage) -> bool:
    """Whether something of it is in the blob store."""
    return bool(message.content_ref or message.blobs)
