"""The blob stores."""

import os
import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from itertools import count
from pathlib import Path
from unittest.mock import patch

from callboard.backends.blob_stores import open_blob_store
from callboard.backends.blob_stores.folder import FolderBlobStore
from callboard.testing.conformance.blob_store import BlobStoreHarness
from callboard.testing.conformance.candidates import Candidate, New, chosen, without_server
from callboard.testing.conformance.candidates.memory_log import Clock
from callboard.testing.fakes.memory_blob_store import MemoryBlobStore
from callboard.testing.servers.s3 import S3Server, moto_server, s3proxy_server


@contextmanager
def memory_blob_store() -> Iterator[BlobStoreHarness]:
    """A harness for blobs in memory."""
    clock = Clock()
    store = MemoryBlobStore(clock)
    with _spool() as spool:
        yield BlobStoreHarness(lambda: store, spool, clock.pass_ns, store.damage)


@contextmanager
def folder_blob_store() -> Iterator[BlobStoreHarness]:
    """A harness for blobs in a folder."""
    clock = Clock()
    with _spool() as spool, tempfile.TemporaryDirectory(prefix="callboard-blobs-") as path:
        store = Path(path) / "store"

        def damage(digest: str, content: bytes) -> None:
            blob = store / digest[:2] / digest[2:]
            blob.chmod(0o600)
            blob.write_bytes(content)

        yield BlobStoreHarness(lambda: FolderBlobStore(store, clock), spool, clock.pass_ns, damage)
        left = [*store.glob("tmp/*"), *spool.iterdir()]
        assert not left, f"left behind: {left}"


def s3_candidate(name: str, server: Callable[[], AbstractContextManager[S3Server]]) -> Candidate[BlobStoreHarness]:
    """Prefixes of a bucket on a private server."""

    @contextmanager
    def start() -> Iterator[New[BlobStoreHarness]]:
        numbers = count(1)
        with server() as s3:
            s3.create_bucket("conformance")

            @contextmanager
            def new() -> Iterator[BlobStoreHarness]:
                prefix = f"some/blobs-{next(numbers)}"
                url = s3.url("conformance", prefix)

                def damage(digest: str, content: bytes) -> None:
                    s3.put_object("conformance", f"{prefix}/{digest[:2]}/{digest[2:]}", content)

                with _spool() as spool, patch.dict(os.environ):
                    for variable in [variable for variable in os.environ if variable.startswith("AWS_")]:
                        del os.environ[variable]
                    os.environ.update(s3.environment)
                    yield BlobStoreHarness(lambda: open_blob_store(url, Path()), spool, damage=damage)

            yield new

    return Candidate(name, start)


def own_blob_stores(only: Sequence[str] = ()) -> list[Candidate[BlobStoreHarness]]:
    """Every blob store of callboard, or those with these names."""
    every = [
        without_server("memory", memory_blob_store),
        without_server("folder", folder_blob_store),
        s3_candidate("s3-moto", moto_server),
        s3_candidate("s3-s3proxy", s3proxy_server),
    ]
    return chosen(every, only)


@contextmanager
def _spool() -> Iterator[Path]:
    with tempfile.TemporaryDirectory(prefix="callboard-spool-") as path:
        yield Path(path)
