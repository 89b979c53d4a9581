"""The world of a publisher or a subscriber: carries out its actors' effects through the backends' contracts."""

import asyncio
import shutil
from collections.abc import AsyncIterator, Iterator, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

from callboard.actors.core.agent import Clock
from callboard.actors.core.decision import Perform
from callboard.actors.core.hooks import Hook, Hooks
from callboard.actors.core.shortening import ShortenTopics
from callboard.actors.publisher.effects import BuildPackage, CollectBlobs, LoadCheckpoint, SaveCheckpoint
from callboard.actors.subscriber.effects import ImportPackages, OpenRepository, RunHook, SaveLedger, SurveyRepository
from callboard.actors.worlds.checkpoint_file import CheckpointFile
from callboard.actors.worlds.import_spans import hook_span, import_spans
from callboard.actors.worlds.log_world import LogWorld
from callboard.actors.worlds.shortening.shortener import Shortener
from callboard.backends.blob_store import BlobStore
from callboard.backends.local import private_folder
from callboard.backends.local.disk import disk_errors
from callboard.backends.log import Log
from callboard.backends.repositories.folder_source import FolderSource
from callboard.backends.repositories.path_patterns import PathPatterns
from callboard.backends.repository import Attempting, Operation, Repository, Source
from callboard.content.collection import Archived, collect
from callboard.content.importing.admission import Admission, admission
from callboard.content.importing.changes import Changes, fetched_list, find_changes, shown, stored_list
from callboard.content.importing.receive import operations, receive_all
from callboard.content.placed import PlacedSource
from callboard.content.ship import Received, build
from callboard.content.survey import survey
from callboard.errors import BlobUnavailable, HookFailed, NameLapsed, RepositoryUnavailable, Undecodable
from callboard.messages import codec
from callboard.messages.distribution.ledger import HookDue, Ledger
from callboard.messages.distribution.mailbox import DistributeRequest
from callboard.messages.distribution.topic_messages import Kind, PackageMessage
from callboard.telemetry.spans import Span


class AgentWorld(LogWorld):
    """One agent's access to the log, the blob store and, for a subscriber, the repository.

    Args:
        log: shared by all agents of a process, or this agent's own if ``owned``.
        blobs: likewise.
        spool: a folder for temporary files; a subscriber's is private, and exists only while needed.
        repository: where a subscriber imports to.
        hooks: called around a subscriber's imports.
        patterns: the paths that a publisher ships of a source, or a subscriber imports of a package.
        clock: tells an import whether it is still permitted.
        max_package_bytes: limit for all files together of a package that a publisher builds.
        archived: the records of an archive, whose blobs must not be collected.
        checkpoint: the file with the checkpoint of a publisher's queue cache, if there is one.
        owned: whether ``close`` also closes the log and the blob store.
    """

    def __init__(
        self,
        log: Log,
        blobs: BlobStore,
        spool: Path,
        *,
        repository: Repository | None = None,
        hooks: Hooks | None = None,
        patterns: PathPatterns = PathPatterns(),  # noqa: B008 - frozen
        max_package_bytes: int | None = None,
        archived: Archived | None = None,
        clock: Clock | None = None,
        checkpoint: Path | None = None,
        owned: bool = False,
    ) -> None:
        super().__init__(log, owned=owned)
        self._blobs = blobs
        self._spool = spool
        self._repository = repository
        self._hooks = hooks
        self._patterns = patterns
        self._max_package_bytes = max_package_bytes
        self._archived = archived
        self._clock = clock
        self._checkpoint_file = CheckpointFile(log, checkpoint)
        self._shortener = Shortener(log)

    async def perform(self, effect: Perform) -> Any:  # noqa: PLR0911 - one line an effect
        """The result that the effect's description promises."""
        match effect:
            case BuildPackage(request=request):
                return await self._build(request)
            case CollectBlobs(package, status, grace_s, now_ns):
                return await collect(
                    self._log, self._blobs, package=package, status=status, grace_s=grace_s, now_ns=now_ns, delete=True,
                    archived=self._archived,
                )  # fmt: skip
            case LoadCheckpoint(topic, log_id):
                return await self._checkpoint_file.load(topic, log_id)
            case SaveCheckpoint(topic, index):
                return await self._checkpoint_file.save(topic, index)
            case ShortenTopics(topics, limits, now_ns):
                return await self._shortener.run(topics, limits, now_ns)
            case SurveyRepository(paths=paths):
                return await survey(self._held(), self._blobs, paths)
            case OpenRepository():
                return await self._open_repository()
            case SaveLedger(ledger=ledger, durable=durable):
                return await self._held().save(codec.encode(ledger), durable)
            case ImportPackages():
                with import_spans(effect) as spans:
                    return await self._import(effect, spans)
            case RunHook(due=due) if self._hooks is not None:
                with hook_span(due):
                    return await self._run_hook(self._hooks, due)
            case _:
                return await super().perform(effect)

    async def close(self) -> None:
        """Release the repository and everything else that this world owns, even if one of them fails to close."""
        async with AsyncExitStack() as stack:
            stack.push_async_callback(super().close)
            if self._owned:
                stack.push_async_callback(self._blobs.close)
            if self._repository is not None:
                stack.push_async_callback(self._repository.close)

    async def _build(self, request: DistributeRequest) -> PackageMessage:
        source: Source = FolderSource(Path(request.source or "/"), self._patterns)
        if request.at not in ("", "/"):
            source = PlacedSource(source, request.at)
        shipment = await build(
            request.kind,
            source,
            request.paths,
            request.deep_paths,
            gone=request.gone_paths,
            compress=request.compress,
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
        await asyncio.to_thread(private_folder.remove_left, self._spool)  # left by an importer that was killed
        try:
            return codec.decode(Ledger, stored) if stored else None
        except Undecodable as error:
            raise RepositoryUnavailable(
                f"this version cannot read the repository's ledger ({error}); upgrade callboard if a newer one wrote "
                "it, else restore the repository from a backup, or choose an empty one"
            ) from error

    async def _import(self, effect: ImportPackages, spans: Sequence[Span]) -> Ledger:
        repository, before = self._held(), codec.encode(effect.attempt)
        hooked = self._hooks is not None and any(map(self._hooks.has, Hook))
        if isinstance(repository, Attempting) and not hooked and not any(map(_has_blobs, effect.packages)):
            only = await self._admission(effect)
            at_hand = [Received(message, message.content or None, {}, only=only) for message in effect.packages]
            await repository.attempt(before, self._permitted(effect, at_hand), codec.encode(effect.ledger))
            return effect.ledger
        await repository.save(before, durable=False)
        if self._hooks is not None:
            for offset, message, span in zip(effect.offsets, effect.packages, spans, strict=True):
                hook = Hook.ON_INVALIDATE if message.kind is Kind.INVALIDATE else Hook.BEFORE_IMPORT
                alone = effect.attempt.attempt_offset == offset  # a joint attempt counts against none of them
                with span.current():
                    await self._hooks.call(hook, message, offset, effect.attempt.attempts if alone else 1)
        # The repository explains its own errors, so any other error comes from reading what was fetched.
        with disk_errors(BlobUnavailable, self._spool):
            async with (
                self._spooled(any(map(_has_blobs, effect.packages))) as spool,
                receive_all(effect.packages, self._blobs, spool, effect.parallel) as received,
            ):
                only = await self._admission(effect)
                taken = [replace(each, only=only) for each in received]
                ledger = await self._knowing_changes(effect, taken, spans)
                await repository.apply(self._permitted(effect, taken), codec.encode(ledger))
                return ledger

    def _permitted(self, effect: ImportPackages, received: Sequence[Received]) -> Iterator[Operation]:
        """The operations for the repository; at their end, just before the commit, the check whether it still may."""
        yield from operations(received)
        if self._clock is not None and effect.permit.is_over(self._clock.now().mono_s):
            raise NameLapsed("the lease on the name expired; it is imported once the name is held again")

    async def _admission(self, effect: ImportPackages) -> Admission | None:
        if not self._patterns:
            return None
        return await asyncio.to_thread(admission, self._patterns, effect.packages, self._held())

    async def _knowing_changes(
        self, effect: ImportPackages, received: Sequence[Received], spans: Sequence[Span]
    ) -> Ledger:
        """The ledger to store, with the changes and spans of their packages added to the hooks that become due."""
        owed = {due.offset for due in effect.ledger.hooks}.intersection(effect.offsets)
        if not owed:
            return effect.ledger
        found = await asyncio.to_thread(find_changes, received, self._held())
        by_offset = dict(zip(effect.offsets, zip(found, spans, strict=True), strict=True))
        hooks = [
            await self._knowing(due, *by_offset[due.offset]) if due.offset in owed else due
            for due in effect.ledger.hooks
        ]
        return replace(effect.ledger, hooks=tuple(hooks))

    async def _knowing(self, due: HookDue, changes: Changes, span: Span) -> HookDue:
        few = shown(changes)
        ref = "" if few.complete else await stored_list(changes, self._blobs)
        return replace(
            due, written=few.written, removed=few.removed, changed=few.total, changes_ref=ref,
            traceparent=span.traceparent,
        )  # fmt: skip

    async def _run_hook(self, hooks: Hooks, due: HookDue) -> None:
        if not hooks.has(Hook.AFTER_IMPORT):  # there was one at the time of the import
            raise HookFailed("no after_import hook is set now; start the subscriber with the one it had, or dismiss it")
        async with self._spooled(bool(due.changes_ref)) as spool:
            listed = await fetched_list(due.changes_ref, self._blobs, spool)
            changes = Changes(due.written, due.removed, due.changed, listed)
            await hooks.call(Hook.AFTER_IMPORT, due, due.offset, due.attempts, changes)

    @asynccontextmanager
    async def _spooled(self, wanted: bool) -> AsyncIterator[Path]:
        """A new folder only while something may be downloaded, so that nothing is left behind when the agent ends."""
        if not wanted:
            yield self._spool
            return
        with disk_errors(RepositoryUnavailable, self._spool):
            spool = private_folder.make(self._spool)
        try:
            yield spool
        finally:
            await asyncio.to_thread(shutil.rmtree, spool, ignore_errors=True)


def _has_blobs(message: PackageMessage) -> bool:
    """Whether any of its content is in the blob store."""
    return bool(message.content_ref or message.blobs)
