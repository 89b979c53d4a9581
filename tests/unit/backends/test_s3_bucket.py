"""The URL of a blob store in S3, and the keys of its blobs."""

from pathlib import Path

import pytest

from callboard.backends.blob_stores import open_blob_store
from callboard.backends.blob_stores.s3 import S3BlobStore
from callboard.backends.blob_stores.s3.bucket import Bucket
from callboard.errors import ConfigError

DIGEST = "ab" + "cdef" * 15 + "01"


@pytest.mark.parametrize(
    ("url", "bucket"),
    [
        ("s3://bucket", Bucket("bucket")),
        ("s3://my.bucket_1/", Bucket("my.bucket_1")),
        ("s3://bucket/a/b/", Bucket("bucket", "a/b")),
        ("s3://bucket/a%20b?region=eu-west-1", Bucket("bucket", "a b", region="eu-west-1")),
        (
            "s3://bucket/p?endpoint_url=http://127.0.0.1:9000&region=r",
            Bucket("bucket", "p", "http://127.0.0.1:9000", "r"),
        ),
        ("s3://bucket?endpoint_url=https%3A%2F%2Fs3.example", Bucket("bucket", "", "https://s3.example")),
    ],
)
def test_a_url_names_a_bucket_and_how_to_reach_it(url: str, bucket: Bucket) -> None:
    assert Bucket.of(url) == bucket


@pytest.mark.parametrize(
    ("url", "problem"),
    [
        ("s3:bucket", "names no bucket"),
        ("s3://", "names no bucket"),
        ("s3:///prefix", "names no bucket"),
        ("s3://b!", "names no bucket"),
        ("s3://bucket#fragment", "names no bucket"),
        ("s3://bucket?endpoint=x", "did you mean endpoint_url"),
        ("s3://bucket?region=", "has no value"),
        ("s3://bucket?endpoint_url=127.0.0.1:9000", "https:// or http://"),
    ],
)
def test_the_error_for_an_invalid_url_shows_the_valid_form(url: str, problem: str) -> None:
    with pytest.raises(ConfigError, match=f"{problem}.*; write s3://BUCKET/PREFIX"):
        Bucket.of(url)


@pytest.mark.parametrize(
    "url",
    [
        "s3://key:hunter2@bucket/prefix",
        "s3://bucket?endpoint_url=http://key:hunter2@127.0.0.1",
        "s3://bucket?aws_secret_access_key=hunter2",
    ],
)
def test_a_secret_in_a_url_is_refused_and_not_repeated(url: str) -> None:
    with pytest.raises(ConfigError) as refusal:
        Bucket.of(url)
    assert "hunter2" not in str(refusal.value)


def test_s3_is_chosen_by_its_scheme_without_opening_a_connection() -> None:
    assert type(open_blob_store("s3://bucket/prefix", Path())) is S3BlobStore


@pytest.mark.parametrize(("prefix", "key"), [("", "ab/"), ("p", "p/ab/"), ("a/b", "a/b/ab/")])
def test_the_key_of_a_blob_begins_with_the_start_of_its_digest(prefix: str, key: str) -> None:
    bucket = Bucket("bucket", prefix)
    assert bucket.blob_key(DIGEST) == key + DIGEST[2:]
    assert bucket.digest(key + DIGEST[2:]) == DIGEST


@pytest.mark.parametrize(
    "key", ["readme", f"p/{DIGEST}", f"p/a/{DIGEST[1:]}", f"ab/{DIGEST[2:]}", f"q/ab/{DIGEST[2:]}"]
)
def test_any_other_key_belongs_to_no_blob(key: str) -> None:
    assert Bucket("bucket", "p").digest(key) == ""
