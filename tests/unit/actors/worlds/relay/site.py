"""A relay between two logs in memory."""

import asyncio
from collections.abc import Awaitable, Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from callboard.actors.core.decision import Moment
from callboard.actors.subscriber.effects import ImportPackages, OpenRepository
from callboard.actors.worlds.relay.relay_world import RelayWorld
from callboard.actors.worlds.relay.site_board import SiteMember
from callboard.backends.logs.memory import MemoryLog
from callboard.messages.distribution.ledger import Ledger
from callboard.messages.distribution.topic_messages import Kind, PackageMessage
from callboard.messages.headers import new_record, open_record
from callboard.messages.record import NewRecord, Record
from callboard.messages.relayed import origin_of
from callboard.messages.topics import Topics
from callboard.testing.fakes.memory_blob_store import MemoryBlobStore
from callboard.testing.fakes.memory_repository import MemoryRepository, MemoryStore

TOPICS = Topics.with_prefix()
ALL = (TOPICS.package, TOPICS.status, TOPICS.discovery, TOPICS.command)
NAME = "berlin"


class Still:
    """A clock that stands still."""

    def now(self) -> Moment:
        """See ``Clock``."""
        return Moment(1_000, 1.0)


class KeylessLog(MemoryLog):
    """A log that takes everything that is appended to it."""

    async def append(self, topic: str, records: Sequence[NewRecord]) -> list[int]:
        """See ``Log``."""
        return await super().append(topic, [replace(record, key="") for record in records])


@dataclass
class Site:
    """See ``SiteBoard``: its members are those of the list."""

    log: MemoryLog = field(default_factory=KeylessLog)
    blobs: MemoryBlobStore = field(default_factory=lambda: MemoryBlobStore(lambda: 1))
    topics: Topics = TOPICS
    known: list[SiteMember] = field(default_factory=list)

    async def members(self) -> list[SiteMember]:
        """See ``SiteBoard``."""
        return self.known

    async def close(self) -> None:
        """See ``SiteBoard``."""


class Relay:
    """The logs, and the world of a relay between them, which may be made again."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.name, self.everything = folder, NAME, False
        self.source, self.site, self.store = MemoryLog(), Site(), MemoryStore()
        self.blobs = MemoryBlobStore(lambda: 1)
        self.world = self.again()

    def again(self, *, another_ledger: bool = False) -> RelayWorld:
        """The world of the relay's next process."""
        self.store = MemoryStore() if another_ledger else self.store
        self.store.crash()
        self.world = RelayWorld(
            self.name, self.source, self.blobs, self.folder / "spool", topics=TOPICS,
            ledger=MemoryRepository(self.store), site=self.site, clock=Still(), new_id=lambda: "new",
            everything=self.everything,
        )  # fmt: skip
        return self.world

    async def open(self) -> Ledger | None:
        """What the ledger is, once it is opened."""
        found: Ledger | None = await self.world.perform(OpenRepository())
        return found

    async def publish(self, *names: str, recipients: Iterable[str] = ()) -> list[Record]:
        """Append packages to the source."""
        for name in names:
            message = PackageMessage(
                publisher_instance="i", publisher="main", package_id=name, kind=Kind.DELETE, paths=(f"/{name}",),
                recipients=tuple(recipients),
            )  # fmt: skip
            record = new_record(message, record_id=name, time_ns=1, producer="main")
            await self.source.append(TOPICS.package, [record])
        return await self.read()

    async def read(self) -> list[Record]:
        """The packages of the source."""
        first, _ = await self.source.bounds(TOPICS.package)
        return await self.source.read(TOPICS.package, first)

    async def ledger(self) -> Ledger:
        """An empty one of these logs."""
        source = await self.source.identity(TOPICS.package)
        there = await self.site.log.identity(TOPICS.package)
        return Ledger(instance="me", subscriber=NAME, log_id=source, positioned=True, site_log_id=there)

    async def import_(self, records: Iterable[Record], ledger: Ledger) -> ImportPackages:
        """The effect that relays these."""
        records = tuple(records)
        messages = tuple(open_record(record, PackageMessage) for record in records)
        offsets = tuple(record.offset for record in records)
        return ImportPackages(messages, offsets, ("",) * len(records), ledger, ledger, records=records)

    async def there(self) -> list[tuple[str, int]]:
        """The packages of the site, each with its offset on the log that it was relayed from; -1 for its own."""
        first, _ = await self.site.log.bounds(TOPICS.package)
        found = await self.site.log.read(TOPICS.package, first)
        return [(each.header("id"), came.last[1] if (came := origin_of(each)) else -1) for each in found]


def play(folder: Path, scene: Callable[[Relay], Awaitable[None]], *, keys: bool = False) -> None:
    """Run the scene with a relay, whose site's log may know keys."""

    async def run() -> None:
        relay = Relay(folder)
        relay.site.log = MemoryLog() if keys else relay.site.log
        for topic in ALL:
            await relay.source.ensure(topic)
            await relay.site.log.ensure(topic)
        await scene(relay)

    asyncio.run(run())
