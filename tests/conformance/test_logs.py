"""Every log of callboard passes the suite that defines a log."""

import asyncio
import inspect
from collections.abc import Callable
from contextlib import AbstractContextManager
from functools import partial

import pytest

from callboard.backends.logs.tail import SharedTail
from callboard.testing.conformance.candidates.logs import postgres_candidate, postgres_log, sqlite_log
from callboard.testing.conformance.candidates.memory_log import itself, memory_log, signed_by_all
from callboard.testing.conformance.log import ALL_CHECKS, Check, LogHarness, restart, verify
from callboard.testing.servers.postgres import INSTALLATIONS

LOGS: dict[str, Callable[[], AbstractContextManager[LogHarness]]] = {
    "memory": memory_log,
    "sqlite": sqlite_log,
    "tail-of-memory": partial(memory_log, SharedTail),
    "tail-of-sqlite": partial(sqlite_log, SharedTail),
    "signed-memory": partial(memory_log, signed_by_all),
    "signed-sqlite": partial(sqlite_log, lambda log: SharedTail(signed_by_all(log))),
    "tiny-tail-of-memory": partial(memory_log, lambda log: SharedTail(log, max_bytes=100)),
}


@pytest.mark.proves("F1", "F2", "F4", "R6", "R8", "R10")
@pytest.mark.parametrize("check", ALL_CHECKS, ids=lambda check: check.__name__)
@pytest.mark.parametrize("name", LOGS)
def test_a_log_passes_the_suite(name: str, check: Check) -> None:
    with LOGS[name]() as harness:
        asyncio.run(verify(check, harness))


@pytest.mark.parametrize("check", ALL_CHECKS, ids=lambda check: check.__name__)
@pytest.mark.parametrize("around", [itself, SharedTail], ids=["log", "tail"])
def test_a_postgres_log_passes_the_suite(around: type, check: Check, each_postgres: str) -> None:
    with postgres_log(each_postgres, around=around) as harness:
        asyncio.run(verify(check, harness))


@pytest.mark.postgres
def test_a_postgres_log_survives_a_restart_of_its_server() -> None:
    with postgres_candidate(max(INSTALLATIONS)).start() as new, new() as harness:
        assert asyncio.run(verify(restart.check_a_restart_loses_nothing, harness)) == ""


def test_sqlite_lacks_only_the_known_capabilities() -> None:
    passed_over = set()
    for check in ALL_CHECKS:
        with sqlite_log() as harness:
            passed_over.add(asyncio.run(verify(check, harness)))
    assert passed_over == {"", "RESTART", "NOT_DURABLE", "NOT_SHARED", "NOT_KEYS", "NOT_TRIM", "NOT_TRIM_BYTES"}


def test_every_check_has_a_docstring() -> None:
    assert len(ALL_CHECKS) > 70
    assert len({check.__name__ for check in ALL_CHECKS}) == len(ALL_CHECKS)
    assert all(inspect.getdoc(check) for check in ALL_CHECKS)
