"""Errors that only the operator can repair name the setting, and end as soon as it is repaired."""

import asyncio
import hashlib
import socket
from collections.abc import Awaitable, Callable
from pathlib import Path

import pytest

from callboard.backends.blob_stores.s3 import S3BlobStore, connection
from callboard.errors import BlobUnavailable
from callboard.testing.servers.s3 import S3Server

DIGEST = hashlib.sha256(b"content").hexdigest()


async def listed(store: S3BlobStore) -> list[str]:
    return [blob.digest async for blob in store.list()]


def uses(spool: Path) -> list[Callable[[S3BlobStore], Awaitable[object]]]:
    """Every method that calls the server."""
    return [
        lambda store: store.put(DIGEST, [b"content"]),
        lambda store: store.fetch(DIGEST, spool),
        lambda store: store.exists(DIGEST),
        lambda store: store.delete(DIGEST),
        listed,
    ]


def said_by_all(url: str, spool: Path, match: str) -> None:
    async def body() -> None:
        for use in uses(spool):
            store = S3BlobStore(url)
            try:
                with pytest.raises(BlobUnavailable, match=match):
                    await use(store)
            finally:
                await store.close()

    asyncio.run(body())
    assert list(spool.iterdir()) == []


def test_a_missing_bucket_is_named(s3: S3Server, tmp_path: Path) -> None:
    said_by_all(s3.url("no-such-bucket", "p"), tmp_path, "s3://no-such-bucket/p .*; create the bucket, or correct")


def test_a_bucket_that_is_created_later_is_found(moto: S3Server) -> None:
    async def body() -> None:
        store = S3BlobStore(moto.url("created-later"))
        with pytest.raises(BlobUnavailable):
            await store.put(DIGEST, [b"content"])
        await asyncio.to_thread(moto.create_bucket, "created-later")
        assert await store.put(DIGEST, [b"content"])
        await store.close()

    asyncio.run(body())


def test_missing_credentials_are_reported(
    moto: S3Server, new_bucket: Callable, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    url = moto.url(new_bucket(moto))
    monkeypatch.delenv("AWS_ACCESS_KEY_ID")
    monkeypatch.delenv("AWS_SECRET_ACCESS_KEY")
    said_by_all(url, tmp_path, "; set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or AWS_PROFILE")


@pytest.mark.parametrize("name", ["AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"])
def test_wrong_credentials_are_reported_but_not_shown(
    name: str, s3proxy: S3Server, new_bucket: Callable, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    url = s3proxy.url(new_bucket(s3proxy))
    monkeypatch.setenv(name, "wrong-value")
    said_by_all(url, tmp_path, "^(?!.*wrong-value).*; check AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY")


def test_an_unknown_profile_is_named(
    moto: S3Server, new_bucket: Callable, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    url = moto.url(new_bucket(moto))
    monkeypatch.setenv("AWS_PROFILE", "nobody")
    said_by_all(url, tmp_path, r"nobody.*; correct AWS_PROFILE")


def test_an_endpoint_that_is_down_is_named(moto: S3Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(connection, "_CONFIG", connection._CONFIG.merge(once()))
    with socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))  # and does not listen
        address = f"http://127.0.0.1:{unused.getsockname()[1]}"
        said_by_all(S3Server(address).url("bucket"), tmp_path, f"{address}.*; check endpoint_url in the URL")


def test_a_server_that_does_not_answer_is_given_up(
    moto: S3Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(connection, "_CONFIG", connection._CONFIG.merge(once()))
    with socket.create_server(("127.0.0.1", 0)) as silent:
        address = f"http://127.0.0.1:{silent.getsockname()[1]}"
        said_by_all(S3Server(address).url("bucket"), tmp_path, "the server does not answer")


def once():
    """A configuration that loses no time."""
    return connection.AioConfig(read_timeout=0.2, retries={"mode": "standard", "total_max_attempts": 1})
