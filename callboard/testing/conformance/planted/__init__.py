"""Tests the suites: backends with one bug each, every one of which a check must catch."""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from functools import partial
from types import ModuleType
from typing import Any, TextIO

from callboard.backends.fold_stores.sqlite import SqliteFolds
from callboard.backends.logs.memory import MemoryLog
from callboard.testing.conformance import blob_store, fold_store, log, repository
from callboard.testing.conformance.candidates import New
from callboard.testing.conformance.log import concurrency, wake_up
from callboard.testing.conformance.planted import blob_stores, fold_stores, logs, repositories
from callboard.testing.conformance.verdict import NotDeclared
from callboard.testing.fakes.memory_blob_store import MemoryBlobStore
from callboard.testing.fakes.memory_repository import MemoryRepository

CHECK_TIMEOUT_S = 6.0
"""Seconds: a check that has not passed by then has caught its bug, as some make readers wait forever."""

Check = Callable[[Any], Awaitable[None]]


@dataclass(frozen=True, slots=True)
class Planted:
    """One suite, a backend that passes it, and variants of it with a bug."""

    suite: str
    checks: Sequence[Check]
    right: type
    wrong: Sequence[type]
    harness: Callable[[Any], Any]

    def new(self, kind: type) -> New[Any]:
        """Makes harnesses over a backend of this kind."""
        return partial(self.harness, kind)


def _bugs_in(module: ModuleType, right: type) -> list[type]:
    """The variants in a module; those with an underscore only help to write others."""
    kinds = [each for name, each in vars(module).items() if isinstance(each, type) and not name.startswith("_")]
    return [kind for kind in kinds if issubclass(kind, right) and kind is not right]


_WAITING = {concurrency.__name__, wake_up.__name__}
_LOG_CHECKS = sorted(log.ALL_CHECKS, key=lambda check: check.__module__ in _WAITING)  # quick ones first

PLANTED = tuple(
    Planted(suite, checks, right, _bugs_in(module, right), harness)
    for suite, checks, right, module, harness in (
        ("log", _LOG_CHECKS, MemoryLog, logs, logs.broken_log),
        ("blob store", blob_store.ALL_CHECKS, MemoryBlobStore, blob_stores, blob_stores.broken_blob_store),
        ("repository", repository.ALL_CHECKS, MemoryRepository, repositories, repositories.broken_repository),
        ("fold store", fold_store.ALL_CHECKS, SqliteFolds, fold_stores, fold_stores.broken_fold_store),
    )
)


def catching_check(checks: Sequence[Check], new: New[Any]) -> str | None:
    """The name of the first check that a backend fails; None if it passes all of them."""
    for check in checks:
        try:
            with new() as harness:
                asyncio.run(asyncio.wait_for(check(harness), CHECK_TIMEOUT_S))
        except NotDeclared:
            continue
        except Exception:  # noqa: BLE001 - any error means that it was caught
            return str(getattr(check, "__name__", check))
    return None


def find_planted_bugs(out: TextIO) -> dict[str, str | None]:
    """Try every planted bug, and print which check caught it; None for a bug that escaped."""
    found: dict[str, str | None] = {}
    for planted in PLANTED:
        innocent = catching_check(planted.checks, planted.new(planted.right))
        if innocent:
            raise AssertionError(f"{planted.right.__name__} has no planted bug and fails {innocent}")
        for kind in planted.wrong:
            name = f"{planted.suite}: {kind.__name__}"
            found[name] = catching_check(planted.checks, planted.new(kind))
            verdict = f"caught by {found[name]}" if found[name] else "ESCAPED"
            out.write(f"{name:<43} {verdict}\n")
            out.flush()
    escaped = list(found.values()).count(None)
    out.write(f"  {len(found) - escaped} of {len(found)} planted bugs caught\n")
    return found
