"""Changes: the rows and the mark change together, and only on the mark that was expected."""

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import replace

from callboard.backends.fold_store import FoldStore, Loaded, Rows
from callboard.testing.conformance.fold_store.harness import (
    FOLD,
    HIDDEN,
    ROWS,
    FoldStoreHarness,
    all_rows,
    meanwhile,
    row,
    some,
    stores,
)

KEYS = [f"{number:03}" for number in range(300)]

RACES = 20
"""Races between two stores; each has another outcome."""


async def check_rows_and_mark_change_together(harness: FoldStoreHarness) -> None:
    """Each save tells the new mark."""
    async with stores(harness, FOLD) as [store]:
        for number in range(1, 6):
            assert await store.save(str(number - 1 or ""), str(number), some([number])) == str(number)
            assert await all_rows(store) == (str(number), some(range(1, number + 1))[ROWS])


async def check_a_mark_changes_without_rows(harness: FoldStoreHarness) -> None:
    """What was read may have meant nothing."""
    async with stores(harness, FOLD) as [store]:
        assert await store.save("", '{"topic": ["ä\'", 1]}', {}) == '{"topic": ["ä\'", 1]}'
        assert await store.save('{"topic": ["ä\'", 1]}', "2", {ROWS: {}}) == "2"
        assert await all_rows(store) == ("2", {})


async def check_rows_change_under_the_same_mark(harness: FoldStoreHarness) -> None:
    """A save may leave the mark as it is."""
    async with stores(harness, FOLD) as [store]:
        await store.save("", "1", some([1]))
        assert await store.save("1", "1", some([2])) == "1"
        assert await all_rows(store) == ("1", some([1, 2])[ROWS])


async def check_a_save_on_another_mark_changes_nothing(harness: FoldStoreHarness) -> None:
    """It tells the one that is in force."""
    async with stores(harness, FOLD) as [store]:
        assert await store.save("0", "1", some([1])) == ""
        assert await all_rows(store) == ("", {})
        await store.save("", "1", some([1]))
        for was in ("", "0", "2", "1 ", "%"):
            assert await store.save(was, "2", {ROWS: {"k000001": None, "k000002": row(2)}}) == "1"
        assert await all_rows(store) == ("1", some([1])[ROWS])


async def check_a_store_is_cleared(harness: FoldStoreHarness) -> None:
    """Of all rows in all tables, and of the mark, if that is the expected one."""
    async with stores(harness, FOLD) as [store]:
        await store.save("", "1", {**some([1]), "seen": {"s": ()}})
        assert await store.clear("2") == "1"
        assert await store.clear("") == "1"
        assert await all_rows(store) == ("1", some([1])[ROWS])
        assert await store.clear("1") == ""
        assert await store.load({ROWS: ["k000001"], "seen": ["s"]}) == ("", {ROWS: {}, "seen": {}})
        assert await store.save("", "2", some([2])) == "2"
        assert await all_rows(store) == ("2", some([2])[ROWS])


async def check_another_store_finds_what_was_saved(harness: FoldStoreHarness) -> None:
    """While the first one is open, and after it was closed."""
    for fold in (FOLD, replace(HIDDEN, name="hidden")):
        async with stores(harness, fold, fold) as [one, another]:
            mark = (await another.load({})).mark
            assert await one.save(mark, "1", some([1])) == "1"
            assert await all_rows(another) == ("1", some([1])[ROWS])
            await one.close()
            assert await another.save("1", "2", some([2])) == "2"
            assert await all_rows(one) == ("2", some([1, 2])[ROWS])


async def check_one_of_two_saves_wins(harness: FoldStoreHarness) -> None:
    """Of those on the same mark; both learn which. The rows are those of the winner."""
    async with stores(harness, FOLD, FOLD) as both:
        for number in range(RACES):
            was = (await both[0].load({})).mark
            rows = [{ROWS: {"k": row(number, name)}} for name in "ab"]
            marks = await asyncio.gather(*(both[n].save(was, f"{number}{'ab'[n]}", rows[n]) for n in range(2)))
            assert marks[0] == marks[1]
            assert marks[0] in (f"{number}a", f"{number}b")
            assert await all_rows(both[0]) == (marks[0], {"k": row(number, marks[0][-1])})


async def _check_one_moment(harness: FoldStoreHarness, read: Callable[[FoldStore], Awaitable[Loaded]]) -> None:
    def rows(number: int) -> Rows:
        return {ROWS: dict.fromkeys(KEYS, row(number))}

    async with stores(harness, FOLD, FOLD) as [writer, reader]:
        await writer.save("", "0", rows(0))
        await reader.load({})

        async def write() -> None:
            for number in range(1, 151):
                assert await writer.save(str(number - 1), str(number), rows(number)) == str(number)

        async with meanwhile(write()) as writing:
            while not writing.done():
                found = await read(reader)
                assert found.rows == rows(int(found.mark))


async def check_a_load_is_of_one_moment(harness: FoldStoreHarness) -> None:
    """Rows and mark belong together, also while another process saves."""
    await _check_one_moment(harness, lambda store: store.load({ROWS: KEYS}))


async def check_a_scan_is_of_one_moment(harness: FoldStoreHarness) -> None:
    """Likewise."""
    await _check_one_moment(harness, lambda store: store.scan(ROWS, "", 1000))


async def check_a_cancelled_save_leaves_nothing_half_done(harness: FoldStoreHarness) -> None:
    """It was carried out, or not at all; the store can be used at once, and holds up no other one."""
    async with stores(harness, FOLD, FOLD) as [one, another]:
        mark, rows = await all_rows(one)
        for number in range(30):
            saving = asyncio.create_task(one.save(mark, str(number), some(range(300), f"{number}-")))
            for _ in range(number):
                await asyncio.sleep(0)
            saving.cancel()
            await asyncio.gather(saving, return_exceptions=True)
            present, found = await all_rows(one)
            assert (present, found) in [(mark, rows), (str(number), {**rows, **some(range(300), f"{number}-")[ROWS]})]
            mark = await another.save(present, f"{number}!", {})
            assert mark in (f"{number}!", str(number))  # the second one if the server has finished it meanwhile
            mark, rows = await all_rows(another)


async def check_calls_at_once_take_turns(harness: FoldStoreHarness) -> None:
    """Of one store."""
    async with stores(harness, FOLD) as [store]:
        marks = await asyncio.gather(*(store.save("", str(number), some([number])) for number in range(10)))
        assert len(set(marks)) == 1
        assert await all_rows(store) == (marks[0], some([int(marks[0])])[ROWS])


async def check_closing_is_idempotent(harness: FoldStoreHarness) -> None:
    """Also of a store that was never used; and a closed one is opened again by its next call."""
    async with stores(harness, FOLD) as [store]:
        await store.close()
        await store.save("", "1", {})
        await store.close()
        await store.close()
        assert await store.load({}) in (("1", {}), ("", {}))  # in memory, it ends with the store
