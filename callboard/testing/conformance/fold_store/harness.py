"""The harness that checks receive, and functions that they share."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine, Iterable, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, replace
from typing import Any

from callboard.backends.fold_store import Fold, FoldStore, Row, Rows, Table
from callboard.testing.conformance.verdict import given

ROWS = "rows"

COLUMNS = (("number", int), ("text", str), ("data", bytes), ("flag", bool), ("share", float))

FOLD = Fold("checked", 2, "code", (Table(ROWS, COLUMNS), Table("seen")), "checked_rows")
"""One whose rows others read."""

HIDDEN = replace(FOLD, view="")
"""One that nobody else reads."""


@dataclass(frozen=True, slots=True)
class FoldStoreHarness:
    """A database under test, which is empty. Every check gets a new harness.

    Attributes:
        make: a store for this fold.
        another: another one over the same database; None if each has its own.
        execute: runs a statement as another program does, and returns what it finds; None if no other can.
        relations: the names of all tables and views; None likewise.
    """

    make: Callable[[Fold], FoldStore]
    another: Callable[[Fold], FoldStore] | None = None
    execute: Callable[[str], Awaitable[Sequence[tuple[Any, ...]]]] | None = None
    relations: Callable[[], Awaitable[set[str]]] | None = None


@asynccontextmanager
async def stores(harness: FoldStoreHarness, *folds: Fold) -> AsyncIterator[list[FoldStore]]:
    """Stores over one database, closed at the end."""
    makes = [harness.make, *[given(harness.another, "ANOTHER")] * (len(folds) - 1)] if folds[1:] else [harness.make]
    async with AsyncExitStack() as stack:
        found = [make(fold) for make, fold in zip(makes, folds, strict=True)]
        for each in found:
            stack.push_async_callback(each.close)
        yield found


@asynccontextmanager
async def meanwhile(work: Coroutine[Any, Any, None]) -> AsyncIterator[asyncio.Task[None]]:
    """Do this while the block runs, and to its end, unless the block fails."""
    task = asyncio.create_task(work)
    try:
        yield task
        await task
    finally:
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)


def row(number: int | None, text: str | None = "") -> Row:
    """A row with this number."""
    return number, text, b"", False, 0.0


def some(numbers: Iterable[int], name: str = "k") -> Rows:
    """Rows with these numbers, and keys in their order."""
    return {ROWS: {f"{name}{number:06}": row(number) for number in numbers}}


async def all_rows(store: FoldStore) -> tuple[str, dict[str, Row]]:
    """The mark, and all rows."""
    found = await store.scan(ROWS, "", 1_000_000)
    return found.mark, found.rows[ROWS]


async def shown(harness: FoldStoreHarness, what: str = "number") -> list[Any]:
    """A column of the view, in the order of the keys."""
    execute = given(harness.execute, "SQL")
    return [each[0] for each in await execute(f"SELECT {what} FROM {FOLD.view} ORDER BY key")]  # noqa: S608
