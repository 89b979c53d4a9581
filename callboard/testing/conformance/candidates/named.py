"""Backends that a URL names, including those of other packages. They need nothing but their own dependencies."""

import tempfile
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path

from callboard.backends.address import shown
from callboard.backends.blob_stores import open_blob_store
from callboard.backends.fold_stores import open_fold_store
from callboard.backends.log import Log
from callboard.backends.registry import open_log
from callboard.backends.repositories import open_repository
from callboard.errors import ConfigError
from callboard.testing.conformance.blob_store import BlobStoreHarness
from callboard.testing.conformance.candidates import Candidate, without_server
from callboard.testing.conformance.fold_store import FoldStoreHarness
from callboard.testing.conformance.log import LogHarness
from callboard.testing.conformance.repository import RepositoryHarness


def named_log(url: str) -> Candidate[LogHarness]:
    """The log that the URL names; the topics of the checks stay in it."""

    @contextmanager
    def new() -> Iterator[LogHarness]:
        async def make() -> Log:
            return open_log(url, Path())

        yield LogHarness(open=make, topic=f"checked-{_unused()}", url=url)

    return without_server(_scheme(url), new)


def named_blob_store(url: str) -> Candidate[BlobStoreHarness]:
    """The blob store that the URL names; ``{}`` becomes an unused name. Raises ``ConfigError`` without ``{}``."""
    _check_template(url)

    @contextmanager
    def new() -> Iterator[BlobStoreHarness]:
        own = url.replace("{}", _unused())
        with tempfile.TemporaryDirectory(prefix="callboard-spool-") as spool:
            yield BlobStoreHarness(lambda: open_blob_store(own, Path()), Path(spool))

    return without_server(_scheme(url), new)


def named_repository(url: str) -> Candidate[RepositoryHarness]:
    """The repository that the URL names; ``{}`` becomes an unused name. Raises ``ConfigError`` without ``{}``."""
    _check_template(url)

    @contextmanager
    def new() -> Iterator[RepositoryHarness]:
        own = url.replace("{}", _unused())
        yield RepositoryHarness(lambda: open_repository(own, Path()))

    return without_server(_scheme(url), new)


def named_fold_store(url: str) -> Candidate[FoldStoreHarness]:
    """The store for folds that the URL names; ``{}`` becomes an unused name. Raises ``ConfigError`` without ``{}``."""
    _check_template(url)

    @contextmanager
    def new() -> Iterator[FoldStoreHarness]:
        make = partial(open_fold_store, url.replace("{}", _unused()), Path())
        yield FoldStoreHarness(make, make)

    return without_server(_scheme(url), new)


def _scheme(url: str) -> str:
    return url.partition(":")[0]


def _unused() -> str:
    return uuid.uuid4().hex[:12]


def _check_template(url: str) -> None:
    if "{}" not in url:
        raise ConfigError(f"every check needs an empty one: put {{}} into {shown(url)!r} where a new name can go")
