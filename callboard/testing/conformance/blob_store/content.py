"""What was put can be fetched, and nothing else."""

import asyncio
from collections.abc import Awaitable, Callable, Iterator
from functools import partial

from callboard.errors import BlobMissing, PackageCorrupt, PackageRefused
from callboard.testing.conformance.blob_store.harness import BlobStoreHarness, digest_of, listed, opened, put
from callboard.testing.conformance.verdict import raises


async def check_a_blob_is_fetched_as_it_was_put(harness: BlobStoreHarness) -> None:
    """Also through another handle, and if it is empty."""
    async with opened(harness) as writer, opened(harness) as reader:
        for content in (b"content", b"", b"\0\n\r" * 1000):
            assert await put(writer, content)
            path = await reader.fetch(digest_of(content), harness.spool)
            assert await asyncio.to_thread(path.read_bytes) == content
            assert await reader.exists(digest_of(content))


async def check_large_content_is_streamed(harness: BlobStoreHarness) -> None:
    """In chunks of any size."""
    content = bytes(range(256)) * 20_000
    chunks = [content[:1], b"", content[1:3_000_000], content[3_000_000:]]
    async with opened(harness) as store:
        assert await store.put(digest_of(content), iter(chunks))
        path = await store.fetch(digest_of(content), harness.spool)
        assert await asyncio.to_thread(path.read_bytes) == content


async def check_only_the_first_put_creates(harness: BlobStoreHarness) -> None:
    """The second does not even read its chunks."""
    async with opened(harness) as store:
        assert await put(store, b"content") is True
        assert await put(store, b"content") is False
        unread = iter([b"content"])
        assert await store.put(digest_of(b"content"), unread) is False
        assert list(unread) == [b"content"]


async def check_concurrent_puts_create_once(harness: BlobStoreHarness) -> None:
    """Through two handles, as from two hosts."""
    async with opened(harness) as one, opened(harness) as other:
        for number in range(10):
            content = b"%d" % number
            created = await asyncio.gather(*(put(store, content) for store in (one, other, one, other)))
            assert sorted(created) == [False, False, False, True]


async def check_content_of_another_digest_is_not_stored(harness: BlobStoreHarness) -> None:
    """Under neither digest, and a correct put still works."""
    async with opened(harness) as store:
        with raises(PackageCorrupt):
            await store.put(digest_of(b"right"), [b"wrong"])
        assert await listed(store) == []
        assert await put(store, b"right")


async def check_content_that_fails_is_not_stored(harness: BlobStoreHarness) -> None:
    """The error is raised as it is, even an ``OSError``: it is not the store that failed."""

    def broken(error: Exception) -> Iterator[bytes]:
        yield b"first"
        raise error

    async with opened(harness) as store:
        for error in (OSError("the source is gone"), KeyError("the source is gone")):
            with raises(OSError, KeyError) as caught:
                await store.put(digest_of(b"first"), broken(error))
            assert caught == [error]
        assert await listed(store) == []


async def check_what_is_not_there_is_missing(harness: BlobStoreHarness) -> None:
    """Before the first put as well as after it."""
    async with opened(harness) as store:
        for _ in range(2):
            digest = digest_of(b"never put")
            assert not await store.exists(digest)
            with raises(BlobMissing) as caught:
                await store.fetch(digest, harness.spool)
            assert digest in str(caught[0])
            await put(store, b"another")


async def check_a_name_that_is_no_digest_is_refused(harness: BlobStoreHarness) -> None:
    """Names come from packages, which may ask for anything."""
    async with opened(harness) as store:
        for name in ("", "../../etc/passwd", "A" * 64, "a" * 63, "a" * 65, "/" * 64, "a" * 64 + "\n"):
            calls: tuple[Callable[[], Awaitable[object]], ...] = (
                partial(store.put, name, [b""]),
                partial(store.fetch, name, harness.spool),
                partial(store.exists, name),
                partial(store.delete, name),
            )
            for call in calls:
                with raises(PackageRefused, by=repr(name)):
                    await call()
