"""Putting the content again replaces a damaged blob."""

import asyncio

from callboard.errors import PackageCorrupt
from callboard.testing.conformance.blob_store.harness import BlobStoreHarness, digest_of, opened, put
from callboard.testing.conformance.verdict import given, raises

_CONTENTS = (b"content", bytes(range(256)) * 8192)
"""Small and large: a store may verify every byte of small blobs only."""


def _damaged(content: bytes) -> tuple[bytes, ...]:
    return b"", content[:-1], content + b"!", content[:-1] + b"!", b"!" + content[1:]


async def check_a_damaged_blob_is_replaced(harness: BlobStoreHarness) -> None:
    """Truncated, longer, or altered at the same size; after that the blob is intact, and is not stored again."""
    damage = given(harness.damage, "DAMAGE")
    async with opened(harness) as store, opened(harness) as other:
        for content in _CONTENTS:
            assert await put(store, content)
            for damaged in _damaged(content):
                await asyncio.to_thread(damage, digest_of(content), damaged)
                assert await put(store, content) is True, f"{len(damaged)} bytes were taken for {len(content)}"
                assert await put(other, content) is False
                path = await other.fetch(digest_of(content), harness.spool)
                assert await asyncio.to_thread(path.read_bytes) == content


async def check_a_damaged_blob_is_replaced_by_several_at_once(harness: BlobStoreHarness) -> None:
    """Each finds it damaged or intact; afterwards it is intact for all of them."""
    damage = given(harness.damage, "DAMAGE")
    async with opened(harness) as one, opened(harness) as other:
        for content in _CONTENTS:
            await put(one, content)
            await asyncio.to_thread(damage, digest_of(content), content[:-1] + b"!")
            assert any(await asyncio.gather(*(put(store, content) for store in (one, other, one, other))))
            assert await put(other, content) is False
            path = await one.fetch(digest_of(content), harness.spool)
            assert await asyncio.to_thread(path.read_bytes) == content


async def check_a_damaged_blob_is_not_replaced_by_other_content(harness: BlobStoreHarness) -> None:
    """Nor is it removed: only content with its digest may replace it."""
    damage = given(harness.damage, "DAMAGE")
    content = b"content"
    async with opened(harness) as store:
        await put(store, content)
        await asyncio.to_thread(damage, digest_of(content), b"damaged")
        with raises(PackageCorrupt):
            await store.put(digest_of(content), [b"another"], len(content))
        path = await store.fetch(digest_of(content), harness.spool)
        assert await asyncio.to_thread(path.read_bytes) == b"damaged"
