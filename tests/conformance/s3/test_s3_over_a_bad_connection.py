"""A download resumes where its connection broke; one that cannot resume fails and leaves nothing."""

import asyncio
import hashlib
import re
import threading
from collections.abc import Callable
from itertools import repeat
from pathlib import Path

import pytest

from callboard.backends.blob_stores.s3 import S3BlobStore, download
from callboard.errors import BlobMissing, BlobUnavailable
from callboard.testing.servers.s3 import S3Server
from callboard.testing.servers.wire import wire

CONTENT = b"".join(number.to_bytes(8, "big") for number in range(1 << 19))  # 4 MiB, no two places alike
DIGEST = hashlib.sha256(CONTENT).hexdigest()


@pytest.fixture
def bucket(moto: S3Server, new_bucket: Callable) -> str:
    """One that holds the content."""

    async def body() -> None:
        store = S3BlobStore(moto.url(name))
        assert await store.put(DIGEST, [CONTENT])
        await store.close()

    name = new_bucket(moto)
    asyncio.run(body())
    return name


def port_of(server: S3Server) -> int:
    return int(server.endpoint_url.rpartition(":")[2])


def ranges(sent: list[bytes]) -> list[int]:
    return [int(start) for start in re.findall(rb"Range: bytes=(\d+)-\r\n", b"".join(sent))]


def test_a_download_resumes_where_the_connection_was_cut(moto: S3Server, bucket: str, tmp_path: Path) -> None:
    async def body() -> None:
        async with wire(port_of(moto), cuts=[1_500_000, 1_000_000]) as relay:
            store = S3BlobStore(S3Server(f"http://127.0.0.1:{relay.port}").url(bucket))
            file = await store.fetch(DIGEST, tmp_path)
            await store.close()
        first, second = ranges(relay.sent)
        assert 0 < first < 1_500_000
        assert first < second < 2_500_000
        assert file.read_bytes() == CONTENT

    asyncio.run(body())


def test_from_a_server_that_ignores_ranges_a_download_starts_over(moto: S3Server, bucket: str, tmp_path: Path) -> None:
    async def body() -> None:
        async with wire(
            port_of(moto), cuts=[1_500_000], alter=lambda data: data.replace(b"\r\nRange:", b"\r\nX-Not:")
        ) as relay:
            store = S3BlobStore(S3Server(f"http://127.0.0.1:{relay.port}").url(bucket))
            file = await store.fetch(DIGEST, tmp_path)
            await store.close()
        assert len(ranges(relay.sent)) == 1
        assert file.read_bytes() == CONTENT

    asyncio.run(body())


def test_a_connection_without_progress_is_given_up(
    moto: S3Server, bucket: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(download, "PAUSES_S", (0.0, 0.0))

    async def body() -> None:
        async with wire(
            port_of(moto), cuts=repeat(1_500_000), alter=lambda data: data.replace(b"\r\nRange:", b"\r\nX-Not:")
        ) as relay:
            store = S3BlobStore(S3Server(f"http://127.0.0.1:{relay.port}").url(bucket))
            with pytest.raises(BlobUnavailable, match=r"breaks at byte [1-9]\d+ of blob .*; check the network"):
                await store.fetch(DIGEST, tmp_path)
            await store.close()

    asyncio.run(body())
    assert list(tmp_path.iterdir()) == []


def test_a_cancelled_download_leaves_nothing_in_the_spool(
    moto: S3Server, bucket: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Even if it is cancelled during a write, which cannot be interrupted."""
    write_at = download._write_at

    async def body() -> None:
        loop, writing, go_on = asyncio.get_running_loop(), asyncio.Event(), threading.Event()

        def write_when_told(file: Path, offset: int, chunks: list[bytes]) -> int:
            loop.call_soon_threadsafe(writing.set)
            go_on.wait()
            return write_at(file, offset, chunks)

        monkeypatch.setattr(download, "_write_at", write_when_told)
        store = S3BlobStore(moto.url(bucket))
        fetching = asyncio.create_task(store.fetch(DIGEST, tmp_path))
        await writing.wait()
        fetching.cancel()
        go_on.set()
        with pytest.raises(asyncio.CancelledError):
            await fetching
        await store.close()

    asyncio.run(body())
    assert list(tmp_path.iterdir()) == []


def test_a_blob_deleted_during_its_download_is_missing(moto: S3Server, bucket: str, tmp_path: Path) -> None:
    async def body() -> None:
        def another_key_for_the_rest(data: bytes) -> bytes:
            return data.replace(DIGEST[2:].encode(), b"0" * 62) if b"\r\nRange:" in data else data

        async with wire(port_of(moto), cuts=[1_500_000], alter=another_key_for_the_rest) as relay:
            store = S3BlobStore(S3Server(f"http://127.0.0.1:{relay.port}").url(bucket))
            with pytest.raises(BlobMissing, match=DIGEST):
                await store.fetch(DIGEST, tmp_path)
            await store.close()

    asyncio.run(body())
    assert list(tmp_path.iterdir()) == []


def test_a_missing_spool_is_named(moto: S3Server, bucket: str, tmp_path: Path) -> None:
    async def body() -> None:
        store = S3BlobStore(moto.url(bucket))
        try:
            with pytest.raises(BlobUnavailable, match="nowhere"):
                await store.fetch(DIGEST, tmp_path / "nowhere")
        finally:
            await store.close()

    asyncio.run(body())
