"""Generations: each version of a fold has rows of its own, and the view shows those that were published last."""

from dataclasses import replace

from callboard.backends.fold_store import Table
from callboard.errors import ConfigError, SchemaTooNew
from callboard.testing.conformance.fold_store.harness import (
    FOLD,
    HIDDEN,
    ROWS,
    FoldStoreHarness,
    all_rows,
    meanwhile,
    row,
    shown,
    some,
    stores,
)
from callboard.testing.conformance.verdict import given, raises

NEWER = replace(FOLD, version=3, code="new", tables=(Table(ROWS, (("number", int), ("more", str))), *FOLD.tables[1:]))
"""The next version, with other columns."""


async def check_published_rows_are_shown(harness: FoldStoreHarness) -> None:
    """Under the name of the view, which has the key and the columns; later changes are seen there, too."""
    execute = given(harness.execute, "SQL")
    async with stores(harness, FOLD) as [store]:
        await store.save("", "1", {ROWS: {"a": (1, "ä", b"\0", True, 0.5), "b": (None,) * 5}})
        assert FOLD.view not in await given(harness.relations, "SQL")()
        await store.publish()
        found = await execute(f"SELECT key, number, text, data, flag, share FROM {FOLD.view} ORDER BY key")  # noqa: S608
        assert list(found) == [("a", 1, "ä", b"\0", True, 0.5), ("b", *(None,) * 5)]
        await store.save("1", "2", {ROWS: {"a": row(7), "b": None}})
        assert await shown(harness) == [7]
        await store.publish()
        assert await shown(harness) == [7]


async def check_a_lost_view_is_made_again(harness: FoldStoreHarness) -> None:
    """By the next ``publish``."""
    async with stores(harness, FOLD) as [store]:
        await store.save("", "1", some([1]))
        await store.publish()
        await given(harness.execute, "SQL")(f"DROP VIEW {FOLD.view}")
        await store.publish()
        assert await shown(harness) == [1]


async def check_a_new_version_is_made_beside_the_old_one(harness: FoldStoreHarness) -> None:
    """The view shows the old rows until the new ones are published. Nothing is left of the old ones then."""
    relations = given(harness.relations, "SQL")
    async with stores(harness, FOLD) as [old]:
        await old.save("", "1", some([1]))
        await old.publish()
        before = await relations()
    async with stores(harness, NEWER) as [new]:
        assert await all_rows(new) == ("", {})
        await new.save("", "2", {ROWS: {"k": (2, "new")}})
        assert await shown(harness) == [1]
        await new.publish()
        assert await shown(harness) == [2]
        assert await shown(harness, "more") == ["new"]
        after = await relations()
        assert len(after) == len(before)
        assert not {name for name in before if name[-5:] in ("_rows", "_seen")} & after - {FOLD.view}
        assert await all_rows(new) == ("2", {"k": (2, "new")})


async def check_the_old_version_works_until_the_new_one_is_published(harness: FoldStoreHarness) -> None:
    """Both processes run during an upgrade. Then the old one is told to be upgraded, whatever it does."""
    async with stores(harness, FOLD, NEWER) as [old, new]:
        await old.save("", "1", some([1]))
        await old.publish()
        await new.save("", "1", {ROWS: {"k": (2, "")}})
        assert await old.save("1", "2", some([2])) == "2"
        await old.rebuild()
        await old.save("", "3", some([3]))
        await old.publish()
        assert await shown(harness) == [3]
        await new.publish()
        for call in (old.publish, old.rebuild, lambda: old.load({}), lambda: old.save("3", "4", {})):
            with raises(SchemaTooNew) as caught:
                await call()
            assert "upgrade" in str(caught[0])
        assert await shown(harness) == [2]


async def check_older_rows_never_replace_newer_ones(harness: FoldStoreHarness) -> None:
    """Also if they were begun after these."""
    async with stores(harness, FOLD, NEWER) as [old, new]:
        await new.save("", "1", {ROWS: {"k": (2, "")}})
        await old.save("", "1", some([1]))
        await new.publish()
        with raises(SchemaTooNew):
            await old.publish()
        assert await shown(harness) == [2]


async def check_an_older_version_is_refused(harness: FoldStoreHarness) -> None:
    """Once the view shows a newer one. The rows of that stay."""
    async with stores(harness, NEWER, FOLD) as [new, old]:
        await new.save("", "1", {ROWS: {"k": (2, "")}})
        await new.publish()
        with raises(SchemaTooNew) as caught:
            await old.load({})
        assert "version 3" in str(caught[0])
        assert await all_rows(new) == ("1", {"k": (2, "")})


async def check_other_code_of_the_same_version_is_refused(harness: FoldStoreHarness) -> None:
    """The rows would be of two sorts."""
    async with stores(harness, FOLD, replace(FOLD, code="other")) as [store, other]:
        await store.save("", "1", some([1]))
        with raises(ConfigError) as caught:
            await other.save("", "2", some([2]))
        assert "version" in str(caught[0])
        assert await all_rows(store) == ("1", some([1])[ROWS])


async def check_rows_without_a_view_are_kept_by_code(harness: FoldStoreHarness) -> None:
    """Old and new processes take turns with their own; what nobody has used for many versions is removed."""
    folds = [replace(HIDDEN, version=1 + number // 2, code=str(number)) for number in range(6)]
    async with stores(harness, *folds[:2]) as [one, other]:
        await one.save("", "one", some([1]))
        await other.save("", "other", some([2]))
        assert await all_rows(one) == ("one", some([1])[ROWS])
        assert await all_rows(other) == ("other", some([2])[ROWS])
    for fold in folds[2:]:
        async with stores(harness, fold) as [store]:
            await store.save("", "new", some([3]))
    async with stores(harness, folds[0], folds[-1]) as [first, last]:
        assert await all_rows(last) == ("new", some([3])[ROWS])
        assert await all_rows(first) == ("", {})


async def check_rows_are_rebuilt_beside_the_old_ones(harness: FoldStoreHarness) -> None:
    """Which are shown until then."""
    relations = given(harness.relations, "SQL")
    async with stores(harness, FOLD) as [store]:
        await store.save("", "1", some([1]))
        await store.publish()
        before = await relations()
        await store.rebuild()
        assert await all_rows(store) == ("", {})
        assert await store.save("1", "2", some([2])) == ""
        assert await store.save("", "2", some([2])) == "2"
        assert await shown(harness) == [1]
        await store.publish()
        assert await shown(harness) == [2]
        assert len(await relations()) == len(before)


async def check_a_store_goes_on_when_its_rows_were_replaced(harness: FoldStoreHarness) -> None:
    """By another one, which built them anew: its next call tells their mark, and a save on the old one is refused."""
    async with stores(harness, FOLD, FOLD) as [store, another]:
        await store.save("", "1", some([1]))
        await store.publish()
        await another.rebuild()
        await another.save("", "2", some([2]))
        await another.publish()
        assert await store.save("1", "3", some([3])) == "2"
        assert await all_rows(store) == ("2", some([2])[ROWS])
        await another.rebuild()
        await another.publish()
        assert await store.load({ROWS: ["k000002"]}) == ("", {ROWS: {}})


async def check_rows_that_were_removed_by_hand_begin_anew(harness: FoldStoreHarness) -> None:
    """Without a mark, so that all is read again. An attempt in between may fail."""
    execute, relations = given(harness.execute, "SQL"), given(harness.relations, "SQL")
    fold = replace(FOLD, view="")
    for tables in ([ROWS], ["seen"], [ROWS, "seen"]):
        async with stores(harness, fold, fold) as [store, another]:
            mark, _ = await all_rows(store)
            await store.save(mark, "1", some([1]))
            for name in await relations():
                if name.startswith("callboard_fold_") and name.rpartition("_")[2] in tables:
                    await execute(f"DROP TABLE {name}")
            assert await all_rows(another) == ("", {})
            assert await all_rows(store) == ("", {})


async def check_publishing_meets_readers(harness: FoldStoreHarness) -> None:
    """They find rows of one version or the other, whenever they look; the stores of old rows go on."""
    async with stores(harness, FOLD, FOLD) as [store, another]:
        await store.save("", "0", some([0]))
        await store.publish()

        async def replace_rows() -> None:
            for number in range(1, 16):
                await store.rebuild()
                await store.save("", str(number), some([number]))
                await store.publish()

        async with meanwhile(replace_rows()) as replacing:
            while not replacing.done():
                (number,) = await shown(harness)
                mark, rows = await all_rows(another)
                assert (mark, rows) == ("", {}) or rows == some([int(mark)])[ROWS]
                assert not mark or int(mark) >= number
