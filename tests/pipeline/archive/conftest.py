"""A log with something on it, an archive in a folder, and what is needed to compare the two."""

from collections.abc import AsyncIterator, Awaitable, Callable
from itertools import count
from pathlib import Path
from typing import Any

import pytest

from callboard.archive.archiver import Archiver
from callboard.archive.files.chain import Archived
from callboard.archive.reader import ArchiveReader
from callboard.archive.restoration import restore
from callboard.archive.store import ArchiveStore
from callboard.archive.stores.folder import FolderArchiveStore
from callboard.backends.log import Log, Retention
from callboard.backends.logs.memory import MemoryLog
from callboard.errors import OffsetOutOfRange
from callboard.messages.record import NewRecord, Record

TOPICS = ("board.package", "board.status")
TOPIC = TOPICS[0]
DAY_NS = 24 * 3600 * 10**9


class Archive:
    """An archive, and a log to fill it from; the clock stands still unless it is moved."""

    topic = TOPIC
    topics = TOPICS

    def __init__(self, store: ArchiveStore, log: Log) -> None:
        self.store, self.log = store, log
        self.now_ns = 1_800_000_000_000_000_000
        self._names = count(1)

    def unique(self) -> str:
        return f"{next(self._names):032x}"

    async def fill(self, number: int, topic: str = TOPIC) -> None:
        """Append records, every third one without a key."""
        for each in TOPICS:
            await self.log.ensure(each)
        end = (await self.log.bounds(topic)).end
        await self.log.append(topic, [new_record(end + place) for place in range(number)])

    def archiver(self, *, store: ArchiveStore | None = None, log: Log | None = None, per_segment: int = 10) -> Archiver:
        return Archiver(log or self.log, store or self.store, TOPICS, lambda: self.now_ns, self.unique,
                        segment_records=per_segment)  # fmt: skip

    async def run(self, **options: Any) -> list[Archived]:
        accept_hole = options.pop("accept_hole", False)
        return [step async for step in self.archiver(**options).run(TOPIC, accept_hole=accept_hole)]

    async def archived(self, start: int | None = None, stop: int | None = None) -> list[Record]:
        return await collected(ArchiveReader(self.store).read(TOPIC, start, stop))

    async def on_log(self, log: Log | None = None) -> list[Record]:
        log = log or self.log
        start, end = await log.bounds(TOPIC)
        found: list[Record] = []
        while start < end and (page := await log.read(TOPIC, start)):
            found += page
            start = page[-1].offset + 1
        return found

    async def restored(self, log: Log, *, same_identity: bool = False) -> int:
        return sum([step.rows async for step in restore(self.store, log, TOPIC, same_identity=same_identity)])

    async def check_restored(self, log: Log) -> None:
        """Restore a log that was trimmed into an empty one, and compare all that can be seen of them."""
        await self.fill(40)
        await self.log.trim(TOPIC, Retention(below_offset=14))
        await self.run()
        assert await self.restored(log) == 27
        assert await self.on_log(log) == await self.on_log()
        assert await log.bounds(TOPIC) == (14, 41)
        assert await log.identity(TOPIC) != await self.log.identity(TOPIC)
        with pytest.raises(OffsetOutOfRange):
            await log.read(TOPIC, 13)
        again = [NewRecord(payload=b"again", key=key) for key in ("key-17", "key-40", "new")]
        assert await log.append(TOPIC, again) == [17, 40, 41]

    async def names(self, prefix: str = "") -> list[str]:
        return [stored.name async for stored in self.store.list(prefix)]


class StoreThatStops:
    """Calls ``stop`` before each step, then does it; counts the steps."""

    def __init__(self, store: ArchiveStore, stop: Callable[[int, str], Awaitable[None]]) -> None:
        self._store, self._stop = store, stop
        self.steps = 0

    @property
    def place(self) -> str:
        return self._store.place

    async def put_new(self, name: str, content: Path | bytes) -> bool:
        await self._step(f"put {name}")
        done = await self._store.put_new(name, content)
        await self._step(f"have put {name}")
        return done

    async def get(self, name: str) -> bytes:
        await self._step(f"get {name}")
        return await self._store.get(name)

    async def fetch(self, name: str, spool: Path) -> Path:
        await self._step(f"fetch {name}")
        return await self._store.fetch(name, spool)

    async def list(self, prefix: str, start: str = "") -> AsyncIterator[Any]:
        await self._step(f"list {prefix}")
        async for stored in self._store.list(prefix, start):
            yield stored

    async def delete(self, name: str) -> None:
        await self._step(f"delete {name}")
        await self._store.delete(name)

    async def close(self) -> None:
        await self._store.close()

    async def _step(self, what: str) -> None:
        self.steps += 1
        await self._stop(self.steps, what)


class Killed(BaseException):
    """Nothing may catch it, as nothing catches a kill."""


def killing_store(store: ArchiveStore, step: int) -> StoreThatStops:
    """A store whose user dies before this step."""

    async def stop(number: int, what: str) -> None:
        if number == step:
            raise Killed(what)

    return StoreThatStops(store, stop)


def new_record(number: int) -> NewRecord:
    headers = (("type", "PackageMessage"), ("id", f"id-{number}"), ("publisher", "site"), ("other", "ä\nb"))
    return NewRecord(payload=b"\0\xff" + f"payload {number}".encode(), headers=headers,
                     key=f"key-{number}" if number % 3 else "")  # fmt: skip


async def collected(records: AsyncIterator[Record]) -> list[Record]:
    return [record async for record in records]


@pytest.fixture
def archive(tmp_path: Path) -> Archive:
    return Archive(FolderArchiveStore(tmp_path / "archive"), MemoryLog())


@pytest.fixture
def stopping() -> Callable[..., StoreThatStops]:
    return StoreThatStops


@pytest.fixture
def killing() -> Callable[..., StoreThatStops]:
    return killing_store


@pytest.fixture
def killed() -> type[BaseException]:
    return Killed
