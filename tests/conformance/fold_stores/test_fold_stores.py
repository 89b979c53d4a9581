"""Every store for folds passes the suite that defines one."""

import asyncio
import inspect

import pytest

from callboard.testing.conformance.candidates.fold_stores import memory_folds, postgres_folds, sqlite_folds
from callboard.testing.conformance.fold_store import ALL_CHECKS, Check, verify

NOT_IN_MEMORY = ("", "ANOTHER", "SQL")


@pytest.mark.parametrize("check", ALL_CHECKS, ids=lambda check: check.__name__)
def test_a_store_in_a_sqlite_file_passes_the_suite(check: Check) -> None:
    with sqlite_folds() as harness:
        assert asyncio.run(verify(check, harness)) == ""


@pytest.mark.parametrize("check", ALL_CHECKS, ids=lambda check: check.__name__)
def test_a_store_in_memory_passes_the_suite(check: Check) -> None:
    with memory_folds() as harness:
        assert asyncio.run(verify(check, harness)) in NOT_IN_MEMORY


@pytest.mark.parametrize("check", ALL_CHECKS, ids=lambda check: check.__name__)
def test_a_store_in_postgres_passes_the_suite(check: Check, each_postgres: str) -> None:
    with postgres_folds(each_postgres) as harness:
        assert asyncio.run(verify(check, harness)) == ""


def test_every_check_has_a_docstring() -> None:
    assert len(ALL_CHECKS) > 30
    assert len({check.__name__ for check in ALL_CHECKS}) == len(ALL_CHECKS)
    assert all(inspect.getdoc(check) for check in ALL_CHECKS)
