"""Every repository of callboard passes the suite that defines a repository."""

import asyncio
import inspect
import os
import tempfile
from collections.abc import Callable
from contextlib import AbstractContextManager
from functools import partial
from pathlib import Path

import pytest

from callboard.backends.repositories.folder import FolderRepository
from callboard.testing.conformance.candidates.repositories import (
    file_repository,
    memory_repository,
    postgres_repository,
)
from callboard.testing.conformance.repository import ALL_CHECKS, Check, RepositoryHarness, verify
from tests.ordinary_user import NOBODY, as_ordinary_user

REPOSITORIES: dict[str, Callable[[], AbstractContextManager[RepositoryHarness]]] = {
    "folder": partial(file_repository, "folder:content"),
    "sqlite": partial(file_repository, "sqlite:content.db"),
    "memory": memory_repository,
}


@pytest.mark.parametrize("check", ALL_CHECKS, ids=lambda check: check.__name__)
@pytest.mark.parametrize("name", REPOSITORIES)
def test_a_repository_passes_the_suite(name: str, check: Check) -> None:
    with REPOSITORIES[name]() as harness:
        assert asyncio.run(verify(check, harness)) == ""


@pytest.mark.parametrize("check", ALL_CHECKS, ids=lambda check: check.__name__)
def test_a_postgres_repository_passes_the_suite(check: Check, each_postgres: str) -> None:
    with postgres_repository(each_postgres) as harness:
        assert asyncio.run(verify(check, harness)) == ""


@pytest.mark.skipif(os.geteuid() != 0, reason="the other tests have already run as an ordinary user")
@pytest.mark.parametrize("check", ALL_CHECKS, ids=lambda check: check.__name__)
def test_a_folder_repository_needs_no_superuser(check: Check) -> None:
    # Not below tmp_path, which only its owner can reach.
    with tempfile.TemporaryDirectory(dir="/tmp") as path:
        os.chown(path, NOBODY, NOBODY)
        harness = RepositoryHarness(lambda: FolderRepository(Path(path) / "content"))
        as_ordinary_user(lambda: asyncio.run(verify(check, harness)))


def test_every_check_has_a_docstring() -> None:
    assert len(ALL_CHECKS) > 40
    assert len({check.__name__ for check in ALL_CHECKS}) == len(ALL_CHECKS)
    assert all(inspect.getdoc(check) for check in ALL_CHECKS)
