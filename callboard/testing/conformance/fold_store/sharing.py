"""One database for several folds, and for tables of others."""

import asyncio
from dataclasses import replace

from callboard.backends.fold_store import Fold, Table
from callboard.errors import RepositoryOccupied
from callboard.testing.conformance.fold_store.harness import (
    FOLD,
    HIDDEN,
    ROWS,
    FoldStoreHarness,
    all_rows,
    shown,
    some,
    stores,
)
from callboard.testing.conformance.verdict import given, raises

OTHER = replace(FOLD, name="checked too", version=9, view="other_rows")


async def check_other_folds_are_left_alone(harness: FoldStoreHarness) -> None:
    """Whatever is done with this one."""
    async with stores(harness, FOLD, OTHER, replace(HIDDEN, name="hidden")) as [store, *others]:
        for number, other in enumerate(others):
            assert await other.save("", f"theirs {number}", some([number, 100])) == f"theirs {number}"
        await others[0].publish()
        await store.save("", "1", some([1]))
        await store.publish()
        await store.rebuild()
        await store.save("", "2", some([2]))
        await store.publish()
        await store.clear("2")
        for number, other in enumerate(others):
            assert await all_rows(other) == (f"theirs {number}", some([number, 100])[ROWS])
        execute = given(harness.execute, "SQL")
        assert [each[0] for each in await execute("SELECT number FROM other_rows ORDER BY key")] == [0, 100]


async def check_stores_begin_at_the_same_time(harness: FoldStoreHarness) -> None:
    """On an empty database: processes start at once."""
    folds = [FOLD, FOLD, OTHER, HIDDEN, FOLD, OTHER]
    async with stores(harness, *folds) as found:
        marks = await asyncio.gather(*(store.save("", f"{n}", some([n])) for n, store in enumerate(found)))
        assert marks[0] == marks[1] == marks[4]
        assert marks[2] == marks[5]
        for store, mark in zip(found, marks, strict=True):
            assert await all_rows(store) == (mark, some([int(mark)])[ROWS])


async def check_tables_of_others_stay(harness: FoldStoreHarness) -> None:
    """With their rows; a view of theirs may show the fold's."""
    execute = given(harness.execute, "SQL")
    await execute("CREATE TABLE theirs (key TEXT, number INTEGER)")
    await execute("INSERT INTO theirs VALUES ('a', 17)")
    async with stores(harness, FOLD) as [store]:
        await store.save("", "1", some([1]))
        await store.publish()
        await execute(f"CREATE VIEW their_view AS SELECT * FROM {FOLD.view}")  # noqa: S608
        await store.rebuild()
        await store.save("", "2", some([1, 2]))
        await store.publish()
    assert list(await execute("SELECT * FROM theirs")) == [("a", 17)]
    assert [each[0] for each in await execute("SELECT number FROM their_view ORDER BY key")] == [1, 2]


async def check_a_name_of_others_is_refused(harness: FoldStoreHarness) -> None:
    """A table or a view under the name of the view is not touched, also if it comes in place of the fold's own view.
    Once it is gone, the rows are published.
    """
    execute = given(harness.execute, "SQL")
    await execute("CREATE TABLE theirs (key TEXT, number INTEGER)")
    await execute("INSERT INTO theirs VALUES ('a', 17)")
    async with stores(harness, FOLD) as [store]:
        await store.save("", "1", some([1]))
        for kind, create in (("VIEW", "AS SELECT * FROM theirs"), ("TABLE", "AS SELECT * FROM theirs")) * 2:
            await execute(f"CREATE {kind} {FOLD.view} {create}")
            with raises(RepositoryOccupied) as caught:
                await store.publish()
            assert FOLD.view in str(caught[0])
            assert await shown(harness) == [17]
            assert await all_rows(store) == ("1", some([1])[ROWS])
            await execute(f"DROP {kind} {FOLD.view}")
            await store.publish()
            assert await shown(harness) == [1]
            await execute(f"DROP VIEW {FOLD.view}")


async def check_names_are_taken_as_they_are(harness: FoldStoreHarness) -> None:
    """Columns and folds may have names that mean something in SQL."""
    names = ("select", "order", "user", "from", "group", "größe")
    fold = Fold('it\'s "%s"; DROP', 1, "'", (Table(ROWS, tuple((name, int) for name in names)),), "table")
    async with stores(harness, fold) as [store]:
        await store.save("", "1", {ROWS: {"k": (1, 2, 3, 4, 5, 6)}})
        await store.publish()
        assert await all_rows(store) == ("1", {"k": (1, 2, 3, 4, 5, 6)})
        found = await given(harness.execute, "SQL")('SELECT key, "select", "order", "größe" FROM "table"')
        assert list(found) == [("k", 1, 2, 6)]
