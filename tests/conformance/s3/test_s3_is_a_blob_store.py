"""A prefix of a bucket passes the suite that defines a blob store, on two servers."""

import asyncio
from collections.abc import Callable
from pathlib import Path

import pytest

from callboard.backends.blob_stores.s3 import S3BlobStore
from callboard.testing.conformance.blob_store import ALL_CHECKS, BlobStoreHarness, Check, content, retention, verify
from callboard.testing.servers.s3 import S3Server


@pytest.mark.parametrize("check", ALL_CHECKS, ids=lambda check: check.__name__)
def test_a_prefix_of_a_bucket_passes_the_suite(
    check: Check, s3: S3Server, new_bucket: Callable, tmp_path: Path
) -> None:
    url = s3.url(new_bucket(s3), "some/blobs")
    asyncio.run(verify(check, BlobStoreHarness(make=lambda: S3BlobStore(url), spool=tmp_path)))


@pytest.mark.parametrize("check", [retention.check_a_list_lives_with_deletes, content.check_only_the_first_put_creates])
def test_a_whole_bucket_passes_the_suite(check: Check, moto: S3Server, new_bucket: Callable, tmp_path: Path) -> None:
    url = moto.url(new_bucket(moto))
    asyncio.run(verify(check, BlobStoreHarness(make=lambda: S3BlobStore(url), spool=tmp_path)))
