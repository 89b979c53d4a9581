"""Building and receiving content: within the record if it is small, else through the blob store."""

import asyncio
import gc
import threading
import tracemalloc
from dataclasses import asdict, replace

import pytest

from callboard.backends.blob_stores.folder import FolderBlobStore
from callboard.backends.repositories.folder.repository import FolderRepository
from callboard.backends.repositories.folder_source import FolderSource
from callboard.backends.repository import Delete, Entry, EntryKind, Put
from callboard.content.package_format.draft import Draft
from callboard.content.ship import Shipment, build, receive
from callboard.errors import (
    BlobDamaged,
    BlobMissing,
    PackageCorrupt,
    PackageRefused,
    RepositoryUnavailable,
    RequestRefused,
)
from callboard.messages.distribution.topic_messages import Kind, PackageMessage
from tests.refused import refused


def message(kind, shipment):
    return PackageMessage(publisher_instance="i", publisher="site", package_id="p-1", kind=kind, **asdict(shipment))


async def delivered(tree, sent, blobs, spool):
    async with receive(sent, blobs, spool) as received:
        return await asyncio.to_thread(tree.apply, received.operations())


@pytest.mark.proves("F20")
@pytest.mark.parametrize("inline_max", [0, 10_000])
@pytest.mark.parametrize("threshold", [0, 5, 10_000])
def test_a_built_package_is_received(sample, new_tree, blobs, spool, inline_max, threshold):
    async def run():
        shipment = await build(
            Kind.ADD, sample(), ["/"], ["/"],
            blobs=blobs, spool=spool, inline_max=inline_max, blob_threshold=threshold,
        )  # fmt: skip
        assert bool(shipment.content) is (inline_max > 0)
        assert shipment.content_ref == ("" if inline_max else shipment.content_digest)
        in_blobs = [info.size async for info in blobs.list() if info.digest in shipment.blobs]
        assert shipment.total_bytes == shipment.length + sum(in_blobs)
        assert await delivered(new_tree(), message(Kind.ADD, shipment), blobs, spool) == sample()
        stored = {info.digest async for info in blobs.list()}
        assert stored == {*shipment.blobs, *([] if inline_max else [shipment.content_ref])}

    asyncio.run(run())
    assert list(spool.iterdir()) == []


def test_a_folder_on_disk_is_shipped_with_its_odd_names_links_and_modes(tmp_path, new_tree, blobs, spool):
    root = tmp_path / "site"
    (root / "empty").mkdir(parents=True, mode=0o750)
    (root / "\u00fc \u4e2d\n").write_bytes(b"x" * 100_000)
    (root / "run").write_text("#!/bin/sh\n")
    (root / "run").chmod(0o755)
    (root / "link").symlink_to("run")

    async def run():
        shipment = await build(Kind.ADD, FolderSource(root), ["/"], ["/"], blobs=blobs, spool=spool)
        return await delivered(new_tree(), message(Kind.ADD, shipment), blobs, spool)

    tree = asyncio.run(run())
    assert tree["/\u00fc \u4e2d\n"][2] == b"x" * 100_000
    assert tree["/run"] == (EntryKind.FILE, 0o755, b"#!/bin/sh\n")
    assert tree["/link"] == (EntryKind.LINK, 0o777, b"run")
    assert tree["/empty"] == (EntryKind.FOLDER, (root / "empty").stat().st_mode & 0o777, b"")


@pytest.mark.parametrize("inline_max", [0, 800_000])
@pytest.mark.parametrize("damaged", [b"changed", b"cut"])
def test_the_error_for_a_damaged_blob_suggests_a_fix_that_works(tmp_path, spool, inline_max, damaged):
    site, out, stored = tmp_path / "site", FolderRepository(tmp_path / "out"), tmp_path / "stored"
    site.mkdir()
    (site / "file").write_text("content")

    async def run():
        blobs = FolderBlobStore(stored)

        async def ship():
            return await build(
                Kind.ADD, FolderSource(site), ["/"], ["/"],
                blobs=blobs, spool=spool, inline_max=inline_max, blob_threshold=5,
            )  # fmt: skip

        async def take(shipment):
            async with receive(message(Kind.ADD, shipment), blobs, spool) as received:
                await out.apply(received.operations(), b"")

        shipment = await ship()
        digest = shipment.content_ref or shipment.blobs[0]
        blob = stored / digest[:2] / digest[2:]
        blob.chmod(0o600)
        blob.write_bytes(damaged)
        await out.open()
        with pytest.raises(BlobDamaged, match=rf"{digest}.*publish .*content again with --full, which replaces it"):
            await take(shipment)
        assert await ship() == shipment
        await take(shipment)
        await out.close()
        await blobs.close()

    asyncio.run(run())
    assert (tmp_path / "out" / "file").read_text() == "content"


def test_an_intact_blob_is_not_reported_as_damaged(sample, blobs, spool):
    async def run():
        shipment = await build(
            Kind.ADD, sample(), ["/"], ["/"], blobs=blobs, spool=spool, inline_max=0, blob_threshold=5
        )  # fmt: skip
        sent = replace(message(Kind.ADD, shipment), content_digest="0" * 64)
        async with receive(sent, blobs, spool) as received:
            with pytest.raises(PackageCorrupt) as denied:
                list(received.operations())
        assert not isinstance(denied.value, BlobDamaged)  # which would be retried: no blob puts that record right

    asyncio.run(run())


@pytest.mark.parametrize("inline_max", [0, 800_000])
def test_a_target_becomes_equal_to_its_source(tmp_path, blobs, spool, inline_max):
    site, out = tmp_path / "site", tmp_path / "out"
    (site / "a" / "b").mkdir(parents=True)
    (site / "a" / "b" / "f").write_text("file")
    (site / "a" / "link").symlink_to("b/f")
    (site / "big").write_bytes(bytes(100_000))
    (site / "c").mkdir(mode=0o700)
    (out / "a" / "b" / "f").mkdir(parents=True)
    (out / "a" / "b" / "f" / "old").write_text("old")
    (out / "c").write_text("a file where a folder comes")

    async def run():
        shipment = await build(
            Kind.ADD, FolderSource(site), ["/"], ["/"], blobs=blobs, spool=spool, inline_max=inline_max
        )
        repository = FolderRepository(out)
        await repository.open(occupied=True)
        try:
            async with receive(message(Kind.ADD, shipment), blobs, spool) as received:
                await repository.apply(received.operations(), b"ledger")
        finally:
            await repository.close()

    asyncio.run(run())
    assert everything(out) == everything(site)


def everything(root):
    return [
        (entry.path, entry.kind, entry.mode, entry.target, b"".join(entry.open()))
        for entry in FolderSource(root).entries("/", deep=True)
    ]


@pytest.mark.proves("F21")
def test_paths_and_digests_count_towards_the_size_of_the_record(new_tree, blobs, spool):
    tree = new_tree()
    for number in range(40):
        tree.file(f"/{number}", bytes([number]) * 2)

    async def run(threshold):
        return await build(
            Kind.ADD, tree, ["/"], ["/"], blobs=blobs, spool=spool, inline_max=4000, blob_threshold=threshold
        )

    assert asyncio.run(run(2)).content
    by_reference = asyncio.run(run(1))
    assert by_reference.length < 4000
    assert len(by_reference.blobs) == 40
    assert by_reference.content_ref


def test_only_add_reads_the_source(new_tree, blobs, spool):
    async def run(kind, paths, deep=()):
        return await build(kind, new_tree(), paths, deep, blobs=blobs, spool=spool)

    assert asyncio.run(run(Kind.DELETE, ["/b", "/a", "/b"])) == Shipment(("/a", "/b"), ())
    assert asyncio.run(run(Kind.INVALIDATE, ["/a"], ["/a"])) == Shipment(("/a",), ("/a",))
    assert asyncio.run(run(Kind.TEST, [])) == Shipment((), ())
    for kind in (Kind.ADD, Kind.DELETE, Kind.INVALIDATE):
        with pytest.raises(RequestRefused, match="no paths"):
            asyncio.run(run(kind, []))
    with pytest.raises(RequestRefused, match="absolute"):
        asyncio.run(run(Kind.DELETE, ["a"]))


def test_a_delete_is_received_without_any_blob(blobs, spool):
    async def run():
        async with receive(message(Kind.DELETE, Shipment(("/a",), ())), blobs, spool) as received:
            return list(received.operations())

    assert asyncio.run(run()) == [Delete("/a")]


def test_a_large_file_that_changes_before_it_is_stored_is_refused(blobs, spool):
    readings = iter([b"before", b"after!"])
    changing = Entry("/f", EntryKind.FILE, 0o644, 6, open=lambda: iter([next(readings)]))

    class Changing:
        def entries(self, path, deep):
            return iter([changing])

    with refused("changed"):
        asyncio.run(build(Kind.ADD, Changing(), ["/f"], [], blobs=blobs, spool=spool, blob_threshold=0))
    assert list(spool.iterdir()) == []


@pytest.mark.parametrize("which", ["package", "file"])
def test_a_missing_blob_is_raised_and_leaves_no_file(sample, blobs, spool, which):
    async def run():
        shipment = await build(
            Kind.ADD, sample(), ["/"], ["/"], blobs=blobs, spool=spool, inline_max=0, blob_threshold=4
        )
        await blobs.delete(shipment.content_ref if which == "package" else shipment.blobs[-1])
        async with receive(message(Kind.ADD, shipment), blobs, spool):
            pytest.fail("nothing to receive")

    with pytest.raises(BlobMissing):
        asyncio.run(run())
    assert list(spool.iterdir()) == []


def test_a_damaged_package_in_the_blob_store_is_detected(sample, new_tree, blobs, spool):
    async def run():
        shipment = await build(Kind.ADD, sample(), ["/"], ["/"], blobs=blobs, spool=spool, inline_max=0)
        stored = blobs.folder / shipment.content_ref
        stored.write_bytes(stored.read_bytes()[:-1] + b"?")
        await delivered(new_tree(), message(Kind.ADD, shipment), blobs, spool)

    with pytest.raises(PackageCorrupt, match="digest"):
        asyncio.run(run())
    assert list(spool.iterdir()) == []


def test_an_invalid_digest_never_reaches_the_blob_store(blobs, spool):
    async def run():
        async with receive(message(Kind.ADD, Shipment(("/a",), (), blobs=("../../x",))), blobs, spool):
            pytest.fail("nothing to receive")

    with pytest.raises(PackageRefused, match="not a digest"):
        asyncio.run(run())


def test_a_package_within_its_record_needs_no_spool(blobs, tmp_path):
    async def run():
        async with receive(message(Kind.ADD, Shipment(("/a",), (), b"x")), blobs, tmp_path / "nowhere") as received:
            assert received.content == b"x"

    asyncio.run(run())


def test_a_missing_spool_is_an_error_that_can_be_repaired(blobs, tmp_path):
    async def run():
        shipped = Shipment(("/a",), (), content_ref="0" * 64)
        async with receive(message(Kind.ADD, shipped), blobs, tmp_path / "nowhere"):
            pytest.fail("nowhere to spool")

    with pytest.raises(RepositoryUnavailable, match="make room"):
        asyncio.run(run())


def test_a_cancelled_build_frees_its_spool(blobs, spool, monkeypatch):
    begun, go_on = threading.Event(), threading.Event()
    closed = []

    class Slow:
        def entries(self, path, deep):
            begun.set()
            go_on.wait(60)
            return iter([Entry(path, EntryKind.FILE)])

    close = Draft.close
    monkeypatch.setattr(Draft, "close", lambda self: (closed.append(self), close(self)))

    async def run():
        work = asyncio.create_task(build(Kind.ADD, Slow(), ["/f"], [], blobs=blobs, spool=spool))
        await asyncio.to_thread(begun.wait, 10)
        work.cancel()
        with pytest.raises(asyncio.CancelledError):
            await work
        go_on.set()

    asyncio.run(run())
    assert len(closed) == 1


@pytest.mark.proves("F19")
def test_a_package_too_large_is_refused_with_its_size_and_the_setting_before_anything_is_stored(sample, blobs, spool):
    tree = sample().file("/big", b"").file("/zoo", b"")
    tree["/big"] = (EntryKind.FILE, 0o644, b"x" * 3_000_000)

    async def run():
        paths = {"paths": ["/", "/zoo"], "deep_paths": ["/"], "blobs": blobs, "spool": spool}
        size = sum(len(content) for kind, _, content in tree.values() if kind is EntryKind.FILE)
        with pytest.raises(RequestRefused, match=rf"{size / 1e6:.3f} MB of files, more than max_package_mb = 2; "):
            await build(Kind.ADD, tree, **paths, max_bytes=2_000_000, blob_threshold=10)
        assert [info async for info in blobs.list()] == []
        assert (await build(Kind.ADD, tree, **paths, max_bytes=size, blob_threshold=10)).entries

    asyncio.run(run())
    assert list(spool.iterdir()) == []


@pytest.mark.proves("F20", "W35")
def test_a_package_of_many_megabytes_is_built_and_received_in_bounded_memory(tmp_path, spool):
    blobs = FolderBlobStore(tmp_path / "blobs")
    root = tmp_path / "site"
    root.mkdir()
    for number in range(400):  # small enough to travel inside the package
        (root / f"{number}").write_bytes(bytes([number % 251]) * 60_000)
    (root / "big").write_bytes(bytes(24 << 20))

    async def run():
        shipment = await build(Kind.ADD, FolderSource(root), ["/"], ["/"], blobs=blobs, spool=spool)
        assert shipment.content == b""
        async with receive(message(Kind.ADD, shipment), blobs, spool) as received:
            puts = (operation for operation in received.operations() if isinstance(operation, Put))
            return sum(len(chunk) for put in puts if put.entry.open for chunk in put.entry.open())

    gc.collect()
    tracemalloc.start()
    try:
        assert asyncio.run(run()) == 400 * 60_000 + (24 << 20)
        assert tracemalloc.get_traced_memory()[1] < 8 << 20
    finally:
        tracemalloc.stop()
