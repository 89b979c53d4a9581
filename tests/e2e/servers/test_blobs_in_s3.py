"""Large content is shipped through a bucket, and arrives unchanged."""

import asyncio
import os
import random
from collections.abc import Iterator
from itertools import count
from pathlib import Path

import pytest

from callboard import Callboard
from callboard.backends.blob_stores.s3 import S3BlobStore
from callboard.testing.servers.s3 import S3Server, moto_server

pytestmark = pytest.mark.s3
DEADLINE_S = 60.0

_numbers = count(1)


@pytest.fixture(scope="module")
def server() -> Iterator[S3Server]:
    with moto_server() as server:
        yield server


@pytest.fixture
def blobs(server: S3Server, monkeypatch: pytest.MonkeyPatch) -> str:
    """The URL of an empty bucket."""
    for name in [name for name in os.environ if name.startswith("AWS_")]:
        monkeypatch.delenv(name)
    for name, value in server.environment.items():
        monkeypatch.setenv(name, value)
    bucket = f"test-{next(_numbers)}"
    server.create_bucket(bucket)
    return server.url(bucket, "board")


def written(folder: Path, files: dict[str, bytes]) -> Path:
    for name, content in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_bytes(content)
    return folder


def found(folder: Path) -> dict[str, bytes]:
    files = (path for path in folder.rglob("*") if path.is_file() and ".callboard" not in path.parts)
    return {str(path.relative_to(folder)): path.read_bytes() for path in files}


async def distribute(blobs: str, folder: Path, source: Path, *edges: str, runtime: str = "embedded") -> None:
    async with Callboard("sqlite:///./board.db", blobs=blobs, base=folder, runtime=runtime) as board:
        await board.publisher("site").publish(source)
        for edge in edges:
            async with board.subscriber(edge, into=folder / edge) as subscriber:
                await subscriber.caught_up(DEADLINE_S)


async def digests(blobs: str) -> list[str]:
    store = S3BlobStore(blobs)
    try:
        return [blob.digest async for blob in store.list()]
    finally:
        await store.close()


@pytest.mark.parametrize("runtime", ["embedded", "processes"])
def test_large_files_arrive_unchanged(runtime: str, blobs: str, tmp_path: Path) -> None:
    rng = random.Random(1)
    files = {"a/one.bin": rng.randbytes(200_000), "a/b/parts.bin": rng.randbytes(9 << 20), "index.html": b"small"}
    source = written(tmp_path / "site", files)
    asyncio.run(distribute(blobs, tmp_path, source, "edge-1", "edge-2", runtime=runtime))
    assert found(tmp_path / "edge-1") == found(tmp_path / "edge-2") == files
    assert len(asyncio.run(digests(blobs))) == 2


def test_a_large_package_of_small_files_arrives_unchanged(blobs: str, tmp_path: Path) -> None:
    rng = random.Random(2)
    files = {f"{number % 10}/{number}.bin": rng.randbytes(5_000) for number in range(400)}
    source = written(tmp_path / "site", files)
    asyncio.run(distribute(blobs, tmp_path, source, "edge"))
    assert found(tmp_path / "edge") == files
    assert len(asyncio.run(digests(blobs))) == 1


def test_a_large_file_published_again_is_not_stored_again(blobs: str, tmp_path: Path) -> None:
    rng = random.Random(3)
    files = {"large.bin": rng.randbytes(300_000), "note.txt": b"first"}
    source = written(tmp_path / "site", files)
    asyncio.run(distribute(blobs, tmp_path, source, "edge"))
    before = asyncio.run(digests(blobs))
    files["note.txt"] = b"second"
    written(source, files)
    asyncio.run(distribute(blobs, tmp_path, source, "edge"))
    assert found(tmp_path / "edge") == files
    assert asyncio.run(digests(blobs)) == before
