"""Rows: what goes in comes out, whatever it is."""

from callboard.testing.conformance.fold_store.harness import FOLD, ROWS, FoldStoreHarness, all_rows, row, some, stores

INT_MIN, INT_MAX = -(2**63), 2**63 - 1

KEYS = (
    "",
    " ",
    "'",
    '"',
    "%",
    "%s",
    "_",
    "\\",
    "$1",
    "?",
    "a'b\"c",
    "\n",
    "ä",
    "a\u0308",
    "日本",
    "😀",
    "NULL",
    "x" * 1000,
)


async def check_a_new_store_is_empty(harness: FoldStoreHarness) -> None:
    """It has no rows and no mark."""
    async with stores(harness, FOLD) as [store]:
        assert await store.load({}) == ("", {})
        assert await store.load({ROWS: ["a"], "seen": ["b"]}) == ("", {ROWS: {}, "seen": {}})
        assert await all_rows(store) == ("", {})


async def check_values_come_back_as_they_were(harness: FoldStoreHarness) -> None:
    """Of every type, with the extremes of each."""
    rows = {
        "least": (INT_MIN, "", b"", False, -1.7976931348623157e308),
        "most": (INT_MAX, "ä日本😀'\"%\\\r\n", bytes(range(256)), True, 5e-324),
        "large": (0, "x" * 100_000, b"\0" * 300_000, True, float("inf")),
        "other": (-1, " ", b"\0", False, 0.1),
    }
    async with stores(harness, FOLD) as [store]:
        assert await store.save("", "1", {ROWS: rows}) == "1"
        found = (await store.load({ROWS: list(rows)})).rows[ROWS]
        assert found == rows
        assert [list(map(type, each)) for each in found.values()] == [[int, str, bytes, bool, float]] * len(rows)
        assert await all_rows(store) == ("1", rows)


async def check_a_missing_value_stays_missing(harness: FoldStoreHarness) -> None:
    """It is neither zero nor false nor empty."""
    rows = {"none": (None,) * 5, "some": (None, "", None, False, None), "others": (0, None, b"", None, 0.0)}
    async with stores(harness, FOLD) as [store]:
        await store.save("", "1", {ROWS: rows})
        assert await all_rows(store) == ("1", rows)


async def check_a_key_is_any_text(harness: FoldStoreHarness) -> None:
    """Nothing in it is taken for a part of a statement, and keys that look alike are different ones."""
    rows = {key: row(number) for number, key in enumerate(KEYS)}
    async with stores(harness, FOLD) as [store]:
        await store.save("", "1", {ROWS: rows, "seen": dict.fromkeys(KEYS, ())})
        assert (await store.load({ROWS: KEYS, "seen": KEYS})).rows == {ROWS: rows, "seen": dict.fromkeys(KEYS, ())}
        await store.save("1", "2", {ROWS: dict.fromkeys(KEYS[3:]), "seen": dict.fromkeys(KEYS[:3])})
        found = (await store.load({ROWS: KEYS, "seen": KEYS})).rows
        assert (list(found[ROWS].values()), set(found["seen"])) == ([row(0), row(1), row(2)], set(KEYS[3:]))


async def check_only_rows_that_exist_are_loaded(harness: FoldStoreHarness) -> None:
    """A key of one table is none of another, and a table that nobody asks for is left out."""
    async with stores(harness, FOLD) as [store]:
        await store.save("", "1", {**some([1, 2]), "seen": {"s": ()}})
        found = await store.load({ROWS: ["k000002", "k000003", "s", "K000002"]})
        assert found == ("1", {ROWS: {"k000002": row(2)}})
        assert await store.load({"seen": ["k000001", "s"]}) == ("1", {"seen": {"s": ()}})


async def check_rows_are_replaced_and_removed(harness: FoldStoreHarness) -> None:
    """All in one save; to remove what is not there is no error."""
    async with stores(harness, FOLD) as [store]:
        await store.save("", "1", {**some([1, 2, 3]), "seen": {"s": (), "t": ()}})
        changes = {"k000001": row(7, "new"), "k000002": None, "k000009": None, "k000004": row(4)}
        await store.save("1", "2", {ROWS: changes, "seen": {"s": None, "t": ()}})
        rows = {"k000001": row(7, "new"), "k000003": row(3), "k000004": row(4)}
        assert await all_rows(store) == ("2", rows)
        assert (await store.scan("seen", "", 10)).rows == {"seen": {"t": ()}}


async def check_many_rows_are_saved_at_once(harness: FoldStoreHarness) -> None:
    """As a batch of the log, or a busy service, makes them."""
    async with stores(harness, FOLD) as [store]:
        rows = some(range(5000))
        await store.save("", "1", rows)
        assert (await store.load({ROWS: list(rows[ROWS])})) == ("1", rows)
        await store.save("1", "2", {ROWS: dict.fromkeys(list(rows[ROWS])[1:])})
        assert await all_rows(store) == ("2", some([0])[ROWS])


async def check_a_scan_has_pages_in_the_order_of_the_keys(harness: FoldStoreHarness) -> None:
    """That of their bytes in UTF-8, in every language. No page begins with the last key of the one before."""
    keys = ["a", "B", "b", "Z", "_", "~", "a-b", "ab", "a b", "ä", "z", "é", "日本", "\U0001f600", "\uffee", "10", "9"]
    async with stores(harness, FOLD) as [store]:
        await store.save("", "1", {ROWS: {key: row(1) for key in keys}})
        found, after = list[str](), ""
        while page := list((await store.scan(ROWS, after, 5)).rows[ROWS]):
            assert len(page) <= 5
            assert after not in page
            found, after = found + page, page[-1]
        assert found == sorted(keys, key=str.encode)
