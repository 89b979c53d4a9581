"""Compares a subscriber's content with what the log says it should have, and repairs differences."""

import asyncio
import hashlib
import tempfile
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from callboard.backends.logs.walk import between
from callboard.backends.repositories.folder import FolderRepository
from callboard.backends.repository import Keep, Operation, Put
from callboard.board.context import BoardContext
from callboard.board.read.expected_tree import Difference, ExpectedTree
from callboard.board.read.explaining import leaves_out, statuses_of
from callboard.board.read.log.log_records import entries_of, opened, record_at
from callboard.board.views import CommandResult
from callboard.content.importing.admission import patterns_of
from callboard.content.ship import receive
from callboard.content.survey import read_survey
from callboard.errors import BlobError, PackageError, RequestRefused, SchemaTooNew
from callboard.messages.distribution.topic_messages import DiscoveryMessage, PackageMessage

PATHS_A_PACKAGE = 1000
"""Paths in one package of a repair; more are split over several."""


@dataclass(frozen=True, slots=True)
class Verified:
    """The differences at the subscriber's position ``offset``, judged by the packages retained from ``first`` on.

    ``unknown`` entries exist, and no retained package says whether they should. ``problems`` are packages that could
    not be taken into account.
    """

    subscriber: str
    offset: int
    first: int
    entries: int
    differences: tuple[Difference, ...]
    unknown: int
    problems: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Repair:
    """One package of a repair: paths to ship again from ``publisher``'s packages, or to remove."""

    publisher: str
    kind: str
    paths: tuple[str, ...]
    offset: int = -1
    """The repairing package's offset; -1 if it was not shipped."""
    source: str = ""
    """The source of the packages that brought the paths; the repair is shipped under the same source."""


async def expected_tree(board: BoardContext, said: DiscoveryMessage, position: int) -> tuple[ExpectedTree, list[str]]:
    """Fold the packages up to the position; returns the tree, and what could not be folded."""
    log, package = board.log, board.topics.package
    statuses = await statuses_of(log, board.topics.status, said.subscriber)
    tree, problems = ExpectedTree(patterns_of(said.configuration)), list[str]()
    first, end = await log.bounds(package)
    with tempfile.TemporaryDirectory(prefix="callboard-verify-") as spool:
        async for record in between(log, package, first, min(end, position + 1)):
            message = opened(record)
            if not isinstance(message, PackageMessage):
                problems.append(f"offset {record.offset} cannot be decoded, so its changes are not expected")
                continue
            if leaves_out(record.offset, message, said, statuses):
                continue
            entries = None
            try:
                if message.content or message.content_ref:
                    entries = await entries_of(message, board.blobs, Path(spool))
            except (BlobError, PackageError, SchemaTooNew) as error:
                problems.append(f"offset {record.offset}: {error}")
            tree.add(message, entries, record.offset)
    return tree, problems


async def compare(
    board: BoardContext, said: DiscoveryMessage, result: CommandResult, paths: tuple[str, ...]
) -> Verified:
    """Compare the content that a subscriber listed with what it should have at that position."""
    listing, position = result.listing_ref, result.position
    tree, problems = await expected_tree(board, said, position)
    with tempfile.TemporaryDirectory(prefix="callboard-verify-") as spool:
        file = await board.blobs.fetch(listing, Path(spool))
        if await asyncio.to_thread(lambda: hashlib.sha256(file.read_bytes()).hexdigest()) != listing:
            raise PackageError(f"the list {listing} is damaged; verify again, which replaces it")
        found = await asyncio.to_thread(lambda: list(read_survey(file)))
    wrong, unknown = tree.differences(found, paths or ("/",))
    first = (await board.log.bounds(board.topics.package)).first
    return Verified(said.subscriber, position, first, len(found), tuple(wrong), unknown, tuple(problems))


def repairs(differences: Iterable[Difference]) -> Iterator[Repair]:
    """The packages that repair the differences; removals first, so that nothing is in the way."""
    wrong = list(differences)
    for kind, is_meant in (("DELETE", _is_extra), ("ADD", _is_lacking)):
        meant = [each for each in wrong if is_meant(each)]
        for publisher, source in sorted({(each.publisher, each.source) for each in meant}):
            paths = [each.path for each in meant if (each.publisher, each.source) == (publisher, source)]
            for start in range(0, len(paths), PATHS_A_PACKAGE):
                yield Repair(publisher, kind, tuple(paths[start : start + PATHS_A_PACKAGE]), source=source)


async def recover(board: BoardContext, wanted: Mapping[str, int], into: Path, spool: Path) -> None:
    """Put the content of these paths, each as of the package at its offset, into a new folder.

    Raises ``RequestRefused`` for content that is gone.
    """
    repository = FolderRepository(into)
    await repository.open()
    try:
        for offset in sorted(set(wanted.values())):
            message = opened(await record_at(board.log, board.topics.package, offset))
            assert isinstance(message, PackageMessage), "it was in the tree that is expected"
            paths = frozenset(path for path, at in wanted.items() if at == offset)
            try:
                async with receive(message, board.blobs, spool) as received:
                    await repository.apply(_only(received.operations(), paths), b"")
            except (BlobError, PackageError) as error:
                raise RequestRefused(
                    f"offset {offset} no longer has its content: {error}; name a source", code="gone"
                ) from error
    finally:
        await repository.close()


def _only(operations: Iterable[Operation], paths: frozenset[str]) -> Iterator[Operation]:
    for operation in operations:
        if isinstance(operation, Keep) or (isinstance(operation, Put) and operation.entry.path in paths):
            yield operation


def _is_extra(each: Difference) -> bool:
    return each.what == "extra"


def _is_lacking(each: Difference) -> bool:
    return not _is_extra(each)
