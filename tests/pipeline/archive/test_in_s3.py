"""An archive in a bucket is like one in a folder, on a server that does not overwrite."""

import asyncio
import os
from collections.abc import Iterator

import pytest

from callboard.archive.compaction import compact
from callboard.archive.stores import open_archive
from callboard.archive.stores.s3 import S3ArchiveStore
from callboard.archive.vacuum import vacuum
from callboard.archive.verification import verify
from callboard.backends.logs.memory import MemoryLog
from callboard.errors import ArchiveBusy, ArchiveDamaged, BlobMissing, ConfigError
from callboard.testing.servers.s3 import S3Server, moto_server

pytestmark = pytest.mark.s3
DAY_NS = 24 * 3600 * 10**9


@pytest.fixture(scope="module")
def server() -> Iterator[S3Server]:
    with moto_server() as running:
        running.create_bucket("archive")
        yield running


@pytest.fixture
def bucket(archive, server, monkeypatch, request) -> Iterator[S3ArchiveStore]:
    """The archive, in a bucket under a prefix of its own."""
    for name in [name for name in os.environ if name.startswith("AWS_")]:
        monkeypatch.delenv(name)
    for name, value in server.environment.items():
        monkeypatch.setenv(name, value)
    place = server.url("archive", request.node.name.replace("[", "-").replace("]", ""))
    archive.store = open_archive(place, archive.store._root)
    return archive.store


def cycle(archive, scenario) -> None:
    async def closing() -> None:
        try:
            await scenario()
        finally:
            await archive.store.close()

    asyncio.run(closing())


def test_all_operations_work_on_an_archive_in_a_bucket(archive, bucket):
    async def scenario() -> None:
        await archive.fill(45)
        await archive.run()
        assert await archive.archived() == await archive.on_log()
        done = await compact(bucket, archive.topic, lambda: archive.now_ns, archive.unique)
        assert (done.files_before, done.files) == (5, 1)
        await archive.fill(20)
        await archive.run()
        assert await archive.archived() == await archive.on_log()
        assert (await verify(bucket, archive.topic)).problems == ()
        newest_ns = max([stored.stored_ns async for stored in bucket.list("")])
        assert (await vacuum(bucket, archive.topic, max(newest_ns, archive.now_ns) + 2 * DAY_NS)).files == 5
        log = MemoryLog()
        await archive.restored(log)
        assert await archive.on_log(log) == await archive.on_log()

    cycle(archive, scenario)


def test_of_two_concurrent_runs_one_ends_with_an_error(archive, bucket, stopping):
    async def scenario() -> None:
        await archive.fill(25)
        others = []

        async def other_is_faster(_: int, what: str) -> None:
            if what.startswith("put manifest") and not others:
                others.extend(await archive.run(per_segment=7))

        with pytest.raises(ArchiveBusy):
            await archive.run(store=stopping(bucket, other_is_faster))
        assert await archive.archived() == await archive.on_log()

    cycle(archive, scenario)


def test_of_many_writers_of_the_same_name_one_succeeds(archive, bucket):
    async def scenario() -> None:
        created = await asyncio.gather(*(bucket.put_new("manifest/a.json", b"%d" % number) for number in range(8)))
        assert sum(created) == 1
        assert await bucket.get("manifest/a.json") == b"%d" % created.index(True)

    cycle(archive, scenario)


def test_a_server_that_overwrites_is_refused_before_anything_is_written(archive, bucket, monkeypatch):
    monkeypatch.setattr("callboard.backends.blob_stores.s3.conditions.IF_ABSENT", {})

    async def scenario() -> None:
        await archive.fill(5)
        with pytest.raises(ConfigError, match="ignores If-None-Match"):
            await archive.run()
        assert [name for name in await archive.names() if "parquet" in name or "json" in name] == []

    cycle(archive, scenario)


def test_names_are_listed_in_order_from_a_given_name(archive, bucket):
    async def scenario() -> None:
        names = [f"manifest/t/{number:020d}.json" for number in range(7)]
        for name in names:
            await bucket.put_new(name, b"")
        assert await archive.names("manifest/t/") == names
        assert [stored.name async for stored in bucket.list("manifest/t/", names[3])] == names[3:]
        between = "manifest/t/00000000000000000002.x"
        assert [stored.name async for stored in bucket.list("manifest/t/", between)] == names[3:]

    cycle(archive, scenario)


def test_a_missing_object_in_a_bucket_is_reported(archive, bucket):
    async def scenario() -> None:
        await archive.fill(5)
        await archive.run()
        (segment,) = await archive.names("segment/")
        await bucket.delete(segment)
        with pytest.raises(ArchiveDamaged, match="is missing in s3://archive/"):
            await archive.archived()
        with pytest.raises(BlobMissing, match="restore the archive from a copy"):
            await bucket.get(segment)

    cycle(archive, scenario)
