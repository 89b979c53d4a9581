"""Every blob store of callboard passes the suite that defines a blob store."""

import asyncio
import hashlib
import inspect
import os
import resource
from collections.abc import Callable
from pathlib import Path

import pytest

from callboard.backends.blob_stores.folder import LEFTOVER_AGE_NS, FolderBlobStore
from callboard.errors import BlobUnavailable
from callboard.testing.conformance.blob_store import ALL_CHECKS, Check, verify
from callboard.testing.conformance.candidates.blob_stores import folder_blob_store, memory_blob_store
from callboard.testing.conformance.candidates.memory_log import NOON_NS

HOUR_NS = 3600 * 10**9
DIGEST = hashlib.sha256(b"content").hexdigest()


@pytest.mark.proves("F24")
@pytest.mark.parametrize("check", ALL_CHECKS, ids=lambda check: check.__name__)
@pytest.mark.parametrize("store", [folder_blob_store, memory_blob_store])
def test_a_blob_store_passes_the_suite(store: Callable, check: Check) -> None:
    with store() as harness:
        assert asyncio.run(verify(check, harness)) == ""


def test_every_check_has_a_docstring() -> None:
    assert len(ALL_CHECKS) > 10
    assert all(inspect.getdoc(check) for check in ALL_CHECKS)


def put_once(store: FolderBlobStore, content: bytes) -> bool:
    async def body() -> bool:
        try:
            return await store.put(hashlib.sha256(content).hexdigest(), [content])
        finally:
            await store.close()

    return asyncio.run(body())


def test_leftovers_of_a_killed_writer_are_removed_when_they_are_old(tmp_path: Path) -> None:
    (tmp_path / "tmp").mkdir()
    old, young = tmp_path / "tmp/old", tmp_path / "tmp/young"
    for file, age in ((old, LEFTOVER_AGE_NS + HOUR_NS), (young, LEFTOVER_AGE_NS - HOUR_NS)):
        file.write_bytes(b"half")
        left_ns = file.stat().st_mtime_ns - age
        os.utime(file, ns=(left_ns, left_ns))
    assert put_once(FolderBlobStore(tmp_path, lambda: NOON_NS), b"content")
    assert not old.exists()
    assert young.exists()


def test_a_put_on_a_full_disk_stores_nothing_and_raises(tmp_path: Path) -> None:
    store = FolderBlobStore(tmp_path)
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (1 << 20, limits[1]))
    try:
        with pytest.raises(BlobUnavailable, match="then try again"):
            put_once(store, bytes(2 << 20))
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
    assert [path for path in tmp_path.rglob("*") if path.is_file()] == []
    assert put_once(store, bytes(2 << 20))


def test_a_root_that_is_a_file_is_named(tmp_path: Path) -> None:
    (tmp_path / "store").write_bytes(b"")
    with pytest.raises(BlobUnavailable, match="store"):
        put_once(FolderBlobStore(tmp_path / "store"), b"content")


@pytest.mark.parametrize(("folder", "blob"), [(0o700, 0o400), (0o2770, 0o440), (0o755, 0o444)])
def test_a_blob_has_the_permissions_of_its_folder(folder: int, blob: int, tmp_path: Path) -> None:
    tmp_path.chmod(folder)
    put_once(FolderBlobStore(tmp_path), b"content")
    file = tmp_path / DIGEST[:2] / DIGEST[2:]
    assert file.read_bytes() == b"content"
    assert file.stat().st_mode & 0o777 == blob
    assert file.parent.stat().st_mode & 0o2777 == folder
    assert file.stat().st_nlink == 1
