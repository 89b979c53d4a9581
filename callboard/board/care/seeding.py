"""Starts a new subscriber from the content of another: from a copy of its repository, or from a snapshot."""

import asyncio
import secrets
import tempfile
from collections.abc import AsyncIterator, Iterable
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

from callboard.actors.core.effects import TopicBounds
from callboard.actors.subscriber.ledger import ledger_changes
from callboard.actors.subscriber.startup import gap
from callboard.backends.address import shown
from callboard.backends.log import Log
from callboard.backends.repositories import open_repository
from callboard.backends.repository import Operation, Put, Repository
from callboard.content.importing.target import Target
from callboard.content.package_format.package import open_package
from callboard.content.snapshot import read_snapshot, write_snapshot
from callboard.errors import RepositoryOccupied, RepositoryUnavailable, RequestRefused, Undecodable
from callboard.messages import codec
from callboard.messages.distribution.ledger import Ledger


@dataclass(frozen=True, slots=True)
class Seeded:
    """A filled repository, with the content that ``origin`` had after the package at ``offset``."""

    subscriber: str
    into: str
    origin: str
    offset: int


@dataclass(frozen=True, slots=True)
class SnapshotTaken:
    """A snapshot: the content that the subscriber ``origin`` has after the package at ``offset``."""

    file: str
    origin: str
    offset: int
    length: int


async def take_snapshot(repository: str, target: Path, base: Path, now_ns: int) -> SnapshotTaken:
    """Write a snapshot of the repository of a stopped subscriber."""
    async with origin_of(repository, base) as (source, stored):
        ledger = ledger_of(repository, stored)
        taken = await asyncio.to_thread(write_snapshot, source, stored, target, now_ns)
        return SnapshotTaken(str(target), ledger.subscriber, ledger.offset, taken.length)


async def seed_from_repository(log: Log, topic: str, name: str, into: str, origin: str, base: Path) -> Seeded:
    """Copy content and position of a stopped subscriber's repository; the two may be of different kinds."""
    async with origin_of(origin, base) as (source, stored):
        ledger = ledger_of(origin, stored)
        await _check_position(log, topic, ledger)
        entries = await asyncio.to_thread(lambda: list(source.entries("/", deep=True)))
        await _fill(into, base, map(Put, entries), name, ledger)
        return Seeded(name, shown(into), ledger.subscriber, ledger.offset)


async def seed_from_snapshot(log: Log, topic: str, name: str, into: str, snapshot: Path, base: Path) -> Seeded:
    """Fill a repository from a snapshot."""
    with tempfile.TemporaryDirectory(prefix="callboard-seed-") as spool:
        package = Path(spool) / "package"
        taken = await asyncio.to_thread(read_snapshot, snapshot, package)
        ledger = ledger_of(str(snapshot), taken.ledger)
        await _check_position(log, topic, ledger)
        content = await asyncio.to_thread(open_package, package)
        await _fill(into, base, content.operations({}), name, ledger)
        return Seeded(name, shown(into), ledger.subscriber, ledger.offset)


@asynccontextmanager
async def held(repository: str, base: Path) -> AsyncIterator[tuple[Repository, bytes]]:
    """The repository, locked, and its ledger. Raises ``RepositoryBusy`` while a subscriber runs."""
    opened = Target(open_repository(repository, base))
    try:
        yield opened, await opened.open()
    finally:
        await opened.close()


@asynccontextmanager
async def origin_of(repository: str, base: Path) -> AsyncIterator[tuple[Repository, bytes]]:
    """The same for an existing repository: opening a missing one would create it. Raises ``RequestRefused``."""
    await asyncio.to_thread(lambda: list(open_repository(repository, base).entries("/", deep=False)))
    async with AsyncExitStack() as stack:
        try:
            origin = await stack.enter_async_context(held(repository, base))
        except RepositoryOccupied:
            ledger_of(repository, b"")
            raise
        yield origin


async def _fill(into: str, base: Path, operations: Iterable[Operation], name: str, ledger: Ledger) -> None:
    """Write content and ledger in one transaction, all or nothing. Only an empty repository is accepted."""
    async with held(into, base) as (repository, stored):
        if stored:
            raise RequestRefused(f"{shown(into)} belongs to a subscriber; choose a new repository", code="exists")
        adopted = ledger_changes.cloned(ledger, name, secrets.token_hex(16))
        await repository.apply(operations, codec.encode(adopted))


def ledger_of(where: str, stored: bytes) -> Ledger:
    """The ledger; refuses one that is not a subscriber's or has no position."""
    try:
        ledger = codec.decode(Ledger, stored) if stored else None
    except Undecodable as error:
        raise RepositoryUnavailable(
            f"the ledger of {shown(where)} is none that this version can read; upgrade it"
        ) from error
    if ledger is None or not ledger.positioned:
        raise RequestRefused(
            f"no subscriber ever imported into {shown(where)}, so it has no position; choose another origin",
            code="not_found",
        )
    return ledger


async def _check_position(log: Log, topic: str, ledger: Ledger) -> None:
    """Raise ``RequestRefused`` unless the log still has what follows the ledger's position."""
    log_id = await log.identity(topic)
    bounds = await log.bounds(topic)
    first = min(ledger.offset + 1, *(package.offset for package in ledger.held), bounds.end)
    if problem := gap.find(ledger, TopicBounds(log_id, bounds.first, bounds.end)):
        raise RequestRefused(f"the content is too old for this log: {problem}", code="gone")
    if first < bounds.first:
        raise RequestRefused(
            f"package {first}, which was quarantined, is trimmed; seed from another subscriber", code="gone"
        )
