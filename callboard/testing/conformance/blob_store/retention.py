"""Listing and deleting: the operations of a collector of unused blobs."""

import asyncio

from callboard.backends.blob_stores.sharded import SHARDS, Sharded
from callboard.testing.conformance.blob_store.harness import BlobStoreHarness, digest_of, listed, opened, put
from callboard.testing.conformance.verdict import given

_CONTENTS = [b"%d" % number for number in range(20)]


async def check_every_blob_is_listed_in_the_order_of_digests(harness: BlobStoreHarness) -> None:
    """With its size; an empty store lists nothing."""
    async with opened(harness) as store:
        assert await listed(store) == []
        for content in _CONTENTS:
            await put(store, content)
        assert await listed(store) == sorted(map(digest_of, _CONTENTS))
        sizes = {blob.digest: blob.size async for blob in store.list()}
        assert sizes == {digest_of(content): len(content) for content in _CONTENTS}


async def check_a_deleted_blob_is_gone(harness: BlobStoreHarness) -> None:
    """Once; the others stay, and it can be put again."""
    one, other = b"one", b"other"
    async with opened(harness) as store:
        assert await store.delete(digest_of(one)) is False
        await put(store, one)
        await put(store, other)
        assert await store.delete(digest_of(one)) is True
        assert await store.delete(digest_of(one)) is False
        assert not await store.exists(digest_of(one))
        assert await listed(store) == [digest_of(other)]
        assert await put(store, one) is True


async def check_the_shards_of_a_store_that_has_some_are_its_list(harness: BlobStoreHarness) -> None:
    """Each blob is in the shard that its digest begins with, and nowhere else."""
    async with opened(harness) as store:
        if isinstance(store, Sharded):
            assert [blob async for blob in store.list_shard("ab")] == []
            for content in _CONTENTS:
                await put(store, content)
            shards = {shard: [blob async for blob in store.list_shard(shard)] for shard in SHARDS}
            assert all(blob.digest.startswith(shard) for shard, blobs in shards.items() for blob in blobs)
            assert [blob for blobs in shards.values() for blob in blobs] == [blob async for blob in store.list()]


async def check_a_list_lives_with_deletes(harness: BlobStoreHarness) -> None:
    """A collector deletes while it lists; each blob is listed once."""
    async with opened(harness) as store:
        for content in _CONTENTS:
            await put(store, content)
        seen = []
        async for blob in store.list():
            seen.append(blob.digest)
            await store.delete(blob.digest)
        assert seen == sorted(map(digest_of, _CONTENTS))
        assert await listed(store) == []


async def check_a_put_renews_the_time_of_a_blob(harness: BlobStoreHarness) -> None:
    """So that a collector's grace period restarts for a package that is about to refer to it."""
    pass_time = given(harness.pass_time, "CLOCK")
    async with opened(harness) as store:
        await put(store, b"content")
        await put(store, b"other")
        before = {blob.digest: blob.stored_ns async for blob in store.list()}
        pass_time(10**9)
        await put(store, b"content")
        after = {blob.digest: blob.stored_ns async for blob in store.list()}
        assert after[digest_of(b"content")] == before[digest_of(b"content")] + 10**9
        assert after[digest_of(b"other")] == before[digest_of(b"other")]


async def check_a_collector_spares_what_was_renewed_since_it_looked(harness: BlobStoreHarness) -> None:
    """And removes the others: once, and they can be put again."""
    pass_time = given(harness.pass_time, "CLOCK")
    async with opened(harness) as store:
        for content in (b"renewed", b"forgotten"):
            await put(store, content)
        assert not await store.delete_unless_renewed(digest_of(b"never put"), 2**62)
        pass_time(3600 * 10**9)
        await put(store, b"renewed")
        stored = {blob.digest: blob.stored_ns async for blob in store.list()}
        since_ns = stored[digest_of(b"renewed")]
        assert not await store.delete_unless_renewed(digest_of(b"renewed"), since_ns)
        assert await store.delete_unless_renewed(digest_of(b"forgotten"), since_ns)
        assert not await store.delete_unless_renewed(digest_of(b"forgotten"), since_ns)
        assert await listed(store) == [digest_of(b"renewed")]
        assert await put(store, b"forgotten") is True


async def check_closing_is_idempotent(harness: BlobStoreHarness) -> None:
    """Also during a put, which completes."""
    store = harness.make()
    await store.close()
    running = asyncio.create_task(put(store, b"content"))
    await asyncio.sleep(0)
    await store.close()
    await store.close()
    assert await running is True
    async with opened(harness) as other:
        assert await other.exists(digest_of(b"content"))
