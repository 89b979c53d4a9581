"""A blob is truncated or altered in its store: a publisher replaces it, and a subscriber takes it up again."""

import asyncio
import os
from collections.abc import Callable, Iterator
from hashlib import sha256
from itertools import count
from pathlib import Path

import pytest
from structlog.testing import capture_logs

from callboard import Callboard
from callboard.actors.core.backoff import Backoff
from callboard.backends.blob_stores.folder import FolderBlobStore
from callboard.backends.blob_stores.stored_file import READ_ALWAYS_BYTES
from callboard.errors import BlobMissing
from callboard.testing.servers.s3 import S3Server, moto_server
from tests.ordinary_user import as_ordinary_user

PATIENCE_S = 60.0
QUICK = Backoff(first_s=0.01, max_s=0.05)
CONTENT = bytes(range(256)) * 8192
DIGEST = sha256(CONTENT).hexdigest()
KEY = f"{DIGEST[:2]}/{DIGEST[2:]}"
DAMAGED = {"empty": b"", "truncated": CONTENT[:-1], "longer": CONTENT + b"!", "altered": CONTENT[:-1] + b"!"}
_numbers = count(1)

Damage = Callable[[bytes], None]


@pytest.fixture(scope="module")
def server() -> Iterator[S3Server]:
    with moto_server() as server:
        yield server


@pytest.fixture(params=["folder", pytest.param("s3", marks=pytest.mark.s3)])
def store(
    request: pytest.FixtureRequest, server: S3Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> tuple[str, Damage]:
    """The URL of an empty blob store, and what writes another content over ``CONTENT`` there."""
    if request.param == "folder":
        return str(tmp_path / "blobs"), lambda content: rewrite(tmp_path / "blobs" / KEY, content)
    for name in [name for name in os.environ if name.startswith("AWS_")]:
        monkeypatch.delenv(name)
    for name, value in server.environment.items():
        monkeypatch.setenv(name, value)
    server.create_bucket(bucket := f"damaged-{next(_numbers)}")
    return server.url(bucket, "board"), lambda content: server.put_object(bucket, f"board/{KEY}", content)


def rewrite(blob: Path, content: bytes) -> None:
    blob.chmod(0o600)
    blob.write_bytes(content)


@pytest.fixture
def site(tmp_path: Path) -> Path:
    (site := tmp_path / "site").mkdir()
    (site / "large").write_bytes(CONTENT)
    return site


@pytest.mark.parametrize("how", DAMAGED)
def test_publishing_again_replaces_a_damaged_blob_and_reports_it(
    how: str, store: tuple[str, Damage], site: Path, tmp_path: Path
) -> None:
    url, damage = store

    async def scene() -> None:
        async with Callboard(f"sqlite:///{tmp_path}/board", blobs=url) as board:
            publisher = board.publisher("site")
            await publisher.publish(site)
            await asyncio.to_thread(damage, DAMAGED[how])
            with capture_logs() as lines:
                await publisher.publish(site, full=True)
                await publisher.publish(site, full=True)
            assert [line["digest"] for line in lines if line["event"] == "blob.replaced"] == [DIGEST]
            async with board.subscriber("edge", into=tmp_path / "out") as edge:
                await edge.caught_up(PATIENCE_S)

    asyncio.run(scene())
    assert (tmp_path / "out/large").read_bytes() == CONTENT


@pytest.mark.parametrize("how", ["truncated", "altered"])
def test_a_subscriber_reports_a_damaged_blob_and_continues_once_it_is_replaced(
    how: str, store: tuple[str, Damage], site: Path, tmp_path: Path
) -> None:
    url, damage = store

    async def scene() -> None:
        async with Callboard(f"sqlite:///{tmp_path}/board", blobs=url) as board:
            publisher = board.publisher("site")
            await publisher.publish(site)
            await asyncio.to_thread(damage, DAMAGED[how])
            async with board.subscriber("edge", into=tmp_path / "out", retry=QUICK, max_retries=-1) as edge:
                async with asyncio.timeout(PATIENCE_S):
                    while DIGEST not in (await edge.report()).last_error:  # noqa: ASYNC110 - of another actor
                        await asyncio.sleep(0.01)
                await publisher.publish(site, full=True)
                await edge.caught_up(PATIENCE_S)
                assert (await edge.report()).offset == 2

    asyncio.run(scene())
    assert (tmp_path / "out/large").read_bytes() == CONTENT


def put(store: FolderBlobStore, content: bytes = CONTENT) -> bool:
    """Whether the content had to be stored; its chunks are the last that were read."""

    async def body() -> bool:
        try:
            return await store.put(sha256(content).hexdigest(), [content], len(content))
        finally:
            await store.close()

    return asyncio.run(body())


@pytest.mark.parametrize("make", [Path.mkdir, Path.touch, os.mkfifo, lambda path: path.symlink_to("/dev/zero")])
def test_a_folder_pipe_or_link_in_place_of_a_blob_blocks_neither_put_nor_fetch(
    make: Callable[[Path], None], tmp_path: Path
) -> None:
    (tmp_path / KEY).parent.mkdir()
    make(tmp_path / KEY)
    store = FolderBlobStore(tmp_path)
    is_folder = (tmp_path / KEY).is_dir()

    async def fetch() -> Path:
        try:
            return await store.fetch(DIGEST, tmp_path)
        finally:
            await store.close()

    if not (tmp_path / KEY).is_file():
        with pytest.raises(BlobMissing, match="publish the content again"):
            asyncio.run(fetch())
    if not is_folder:
        assert put(store) is True
        assert asyncio.run(fetch()).read_bytes() == CONTENT


def test_large_blobs_are_not_read_again_at_each_put(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    store = FolderBlobStore(tmp_path)
    assert put(store)
    monkeypatch.setattr("callboard.backends.blob_stores.stored_file._digest", lambda _: pytest.fail("it was read"))
    assert not put(store)
    assert len(CONTENT) > READ_ALWAYS_BYTES


def test_a_blob_without_the_mark_of_newer_versions_is_read_once_and_kept(tmp_path: Path) -> None:
    store = FolderBlobStore(tmp_path)
    assert put(store)
    os.utime(tmp_path / KEY, ns=(10**18, 10**18))
    before = (tmp_path / KEY).stat().st_ino
    assert not put(store)
    assert (tmp_path / KEY).stat().st_ino == before


def test_a_small_blob_corrupted_on_disk_is_replaced(tmp_path: Path) -> None:
    store, digest = FolderBlobStore(tmp_path), sha256(b"content").hexdigest()
    assert put(store, b"content")
    blob = tmp_path / digest[:2] / digest[2:]
    times = blob.stat().st_atime_ns, blob.stat().st_mtime_ns
    rewrite(blob, b"c0ntent")
    os.utime(blob, ns=times)
    assert put(store, b"content")
    assert blob.read_bytes() == b"content"


def test_a_blob_stored_by_another_user_can_be_put_again(ordinary_path: Path) -> None:
    ordinary_path.chmod(0o777)
    assert put(FolderBlobStore(ordinary_path))
    before = (ordinary_path / KEY).stat().st_uid

    def again() -> None:
        assert put(FolderBlobStore(ordinary_path))
        assert not put(FolderBlobStore(ordinary_path))
        assert (ordinary_path / KEY).read_bytes() == CONTENT

    as_ordinary_user(again)
    assert before == os.geteuid()
