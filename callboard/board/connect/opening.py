"""Opens what an agent's world needs, in any process."""

import hashlib
import os
import tempfile
import time
from collections.abc import Collection, Mapping
from pathlib import Path

from callboard.actors.core.agent import EffectFunction
from callboard.actors.core.decision import Perform
from callboard.actors.runtime import SystemClock
from callboard.actors.subscriber.settings import SubscriberSettings
from callboard.actors.worlds.log_world import LogWorld
from callboard.actors.worlds.world import AgentWorld
from callboard.backends.address import shown, without_passwords
from callboard.backends.blob_store import BlobStore
from callboard.backends.blob_stores import open_blob_store
from callboard.backends.log import Log
from callboard.backends.logs.signed_log import SignedLog
from callboard.backends.logs.tail import SharedTail
from callboard.backends.registry import open_log
from callboard.backends.repositories.path_patterns import PathPatterns
from callboard.board.connect.settings import BoardSettings
from callboard.content.collection import Archived
from callboard.content.importing.target import Target
from callboard.errors import ConfigError
from callboard.messages.topics import PREFIX, Topics

SQLITE = "sqlite:///"


def open_board_log(settings: BoardSettings) -> Log:
    """The log, with one tail reader, however many actors of this process follow it."""
    log = open_log(settings.log, settings.base)
    if settings.archive:
        from callboard.archive.archived_log import ArchivedLog
        from callboard.archive.reader import ArchiveReader

        log = ArchivedLog(log, ArchiveReader(settings.archive, settings.base))
    return SharedTail(signing(log, settings))


def signing(log: Log, settings: BoardSettings) -> Log:
    """The log, signed and verified if the board has keys. It sits below the shared tail, so that each record is
    verified once.
    """
    if settings.signing_key is None:
        return log
    return SignedLog(log, settings.signing_key, settings.trusted_keys, settings.topics.package, time.time_ns)


def open_board_blobs(settings: BoardSettings) -> BlobStore:
    """The blob store. Raises ``ConfigError`` if none is given and the log does not imply one."""
    return open_blob_store(blobs_place(settings), settings.base)


def blobs_place(settings: BoardSettings) -> str:
    """Where the blobs are. Raises as ``open_board_blobs``.

    Each prefix has a folder of its own: a collection removes what the log of its prefix does not need.
    """
    if settings.blobs:
        return settings.blobs
    if settings.log.startswith(SQLITE):
        Topics.with_prefix(settings.prefix)  # becomes a folder's name, so it is checked first
        name = "blobs" if settings.prefix == PREFIX else f"blobs-{settings.prefix}"
        return str(settings.base / settings.log.removeprefix(SQLITE) / name)
    kind = shown(settings.log).partition(":")[0]
    raise ConfigError(
        f"a log of kind {kind!r} needs a blob store beside it: set blobs (for a relay's site: to_blobs) "
        "to a folder, or s3://BUCKET"
    )


def checkpoint_place(settings: BoardSettings) -> Path | None:
    """The file with the checkpoint of queue caches: beside a SQLite log, for a server's in the user's folder of caches.
    None for a log in memory, and for a user without a home.
    """
    topic = settings.topics.package
    if settings.log.startswith(SQLITE):
        return settings.base / settings.log.removeprefix(SQLITE) / f"{topic}.index"
    if settings.log.startswith("memory:") or (caches := user_caches()) is None:
        return None
    log = hashlib.sha256(without_passwords(settings.log).encode()).hexdigest()[:16]
    return caches / f"{topic}-{log}.index"


def user_caches() -> Path | None:
    """The user's folder for what can be made again; None if the user has no home."""
    try:
        caches = Path(os.environ.get("XDG_CACHE_HOME") or "~/.cache").expanduser()
    except RuntimeError:
        return None
    return caches / "callboard" if caches.is_absolute() else None


def records_for_blobs(settings: BoardSettings, log: Log) -> Archived | None:
    """The archived records whose blobs must not be collected, if there is an archive."""
    place = settings.blobs_for
    if not place:
        return None
    from callboard.board.connect.archived_records import archived_records

    return archived_records(place, settings.base, log, settings.topics.package)


def subscriber_spool(name: str, repository: str, base: Path) -> Path:
    """The prefix of a subscriber's temporary folders: the same after a restart, to find leftovers."""
    where = (base / without_passwords(repository)).absolute()  # everyone can see the names of temporary folders
    identity = hashlib.sha256(f"{os.getuid()}\0{name}\0{where}".encode()).hexdigest()[:16]
    return Path(tempfile.gettempdir()) / f"callboard-{identity}"


async def open_world(settings: BoardSettings, subscriber: SubscriberSettings | None) -> AgentWorld:
    """The world of an actor in its own process."""
    return world(settings, open_board_log(settings), open_board_blobs(settings), subscriber, owned=True)


async def open_log_world(
    settings: BoardSettings, topics: Collection[str], effects: Mapping[type[Perform], EffectFunction]
) -> LogWorld:
    """The world of an actor in its own process, of an agent that the service wrote; see ``LogWorld``."""
    return LogWorld(open_board_log(settings), topics=topics, effects=effects, owned=True)


def world(
    settings: BoardSettings, log: Log, blobs: BlobStore, subscriber: SubscriberSettings | None, *, owned: bool = False
) -> AgentWorld:
    """The world of a publisher or a subscriber; of a subscriber's actors, only the importer opens the repository."""
    if subscriber is None:
        return AgentWorld(
            log,
            blobs,
            Path(tempfile.gettempdir()),
            patterns=settings.patterns,
            max_package_bytes=settings.publishing.max_package_bytes,
            archived=records_for_blobs(settings, log),
            checkpoint=checkpoint_place(settings),
            owned=owned,
        )
    from callboard.backends.repositories import open_repository
    from callboard.board.connect.functions.hooks import HookRunner

    base = settings.base
    return AgentWorld(
        log,
        blobs,
        subscriber_spool(subscriber.name, subscriber.repository, base),
        repository=Target(open_repository(subscriber.repository, base), subscriber.on_occupied),
        patterns=PathPatterns(subscriber.include, subscriber.exclude),
        clock=SystemClock(),
        hooks=HookRunner(subscriber.hooks, subscriber.name, full_path(subscriber.repository, base), base),
        owned=owned,
    )


def full_path(repository: str, base: Path) -> str:
    """The repository, by its absolute path if it is a folder."""
    kind, colon, path = repository.partition(":")
    named = bool(colon) and "/" not in kind
    if named and kind != "folder":
        return repository
    return str((base / (path if named else repository)).absolute())


def repository_place(repository: str, base: Path, host: str) -> str:
    """What tells two copies of a repository apart; one on a server is the same from every host."""
    if "://" in repository:
        where = without_passwords(repository)
    else:
        where = f"{host}\0{(base / repository.rpartition(':')[2]).absolute()}"
    return hashlib.sha256(where.encode()).hexdigest()[:16]
