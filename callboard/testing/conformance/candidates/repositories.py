"""The repositories."""

import os
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path

from callboard.backends.repositories import open_repository
from callboard.testing.conformance.candidates import Candidate, New, chosen, without_server
from callboard.testing.conformance.repository import RepositoryHarness
from callboard.testing.fakes.memory_repository import MemoryRepository, MemoryStore
from callboard.testing.servers.postgres import INSTALLATIONS, NAMED, own_schema, postgres_server


@contextmanager
def memory_repository() -> Iterator[RepositoryHarness]:
    """A harness for content in memory."""
    store = MemoryStore()
    yield RepositoryHarness(lambda: MemoryRepository(store))


@contextmanager
def file_repository(where: str) -> Iterator[RepositoryHarness]:
    """A harness for content on this machine's disk: ``where`` is the kind, and a path below a private folder."""
    with tempfile.TemporaryDirectory(prefix="callboard-repository-") as folder:
        yield RepositoryHarness(lambda: open_repository(where, Path(folder)))


@contextmanager
def postgres_repository(server_url: str) -> Iterator[RepositoryHarness]:
    """A harness for content in a private schema of a database."""
    with own_schema(server_url) as url:
        yield RepositoryHarness(lambda: open_repository(f"{url}&repository=checked", Path()))


def postgres_candidate(version: int) -> Candidate[RepositoryHarness]:
    """The repository on a private server."""

    @contextmanager
    def start() -> Iterator[New[RepositoryHarness]]:
        with postgres_server(version) as server:
            yield partial(postgres_repository, server.url)

    return Candidate(f"postgres-{version}", start)


def own_repositories(only: Sequence[str] = ()) -> list[Candidate[RepositoryHarness]]:
    """Every repository of callboard, or those with these names."""
    named = os.environ.get(NAMED, "")
    every = [
        without_server("memory", memory_repository),
        without_server("folder", partial(file_repository, "folder:content")),
        without_server("sqlite", partial(file_repository, "sqlite:content.db")),
        *(postgres_candidate(version) for version in INSTALLATIONS),
        *([without_server("postgres-named", partial(postgres_repository, named))] if named else []),
    ]
    return chosen(every, only, postgres_candidate)
