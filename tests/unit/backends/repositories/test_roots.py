"""A root that others filled is not replaced by the way."""

import asyncio
from collections.abc import Callable, Coroutine
from pathlib import Path
from typing import Any

import pytest

from callboard import Callboard, RequestRefused, RootFilled

DEADLINE_S = 60.0


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    for name in ("site", "other", "large"):
        (tmp_path / name / "pages").mkdir(parents=True)
        (tmp_path / name / "pages" / f"{name}.html").write_text(name)
    return tmp_path


def on_board(folder: Path, work: Callable[[Callboard], Coroutine[Any, Any, None]]) -> None:
    async def limited() -> None:
        async with asyncio.timeout(DEADLINE_S), Callboard("memory:", base=folder) as board:
            await work(board)

    asyncio.run(limited())


def tree(folder: Path) -> set[str]:
    return {
        path.relative_to(folder).as_posix()
        for path in folder.rglob("*")
        if path.is_file() and ".callboard" not in path.parts
    }


async def imported(board: Callboard, into: str) -> set[str]:
    async with board.subscriber(into, into=f"./{into}") as edge:
        await edge.caught_up()
    return tree(board.settings.base / into)


def test_two_sources_of_one_publisher_stand_side_by_side(folder: Path) -> None:
    async def work(board: Callboard) -> None:
        of = board.publisher()
        await of.publish("./site", at="/site")
        package = await of.publish("./other", at="/deep/down")
        assert package.paths == ("/deep/down",)
        await of.publish("./site", at="/site")
        await of.publish("./other", ["/pages"], at="/deep/down")
        assert await imported(board, "edge-1") == {"site/pages/site.html", "deep/down/pages/other.html"}
        (folder / "other" / "pages" / "other.html").rename(folder / "other" / "new.html")
        await of.publish("./other", at="/deep/down")
        assert await imported(board, "edge-1") == {"site/pages/site.html", "deep/down/new.html"}

    on_board(folder, work)


@pytest.mark.parametrize("publisher", ["main", "second"])
def test_the_root_of_another_source_or_publisher_is_not_replaced_without_asking(folder: Path, publisher: str) -> None:
    async def work(board: Callboard) -> None:
        await board.publisher("main").publish("./site")
        for _ in range(2):
            with pytest.raises(RootFilled, match=r"site' by publisher 'main' .*--at /PREFIX, or add --replace-root"):
                await board.publisher(publisher).publish("./other")
        assert await imported(board, "edge-1") == {"pages/site.html"}
        await board.publisher(publisher).publish("./other", replace_root=True)
        assert await imported(board, "edge-1") == {"pages/other.html"}
        await board.publisher(publisher).publish("./other")
        with pytest.raises(RootFilled):
            await board.publisher("main").publish("./site")

    on_board(folder, work)


def test_a_source_may_replace_its_own_root_without_asking(folder: Path) -> None:
    async def work(board: Callboard) -> None:
        of = board.publisher()
        for options in ({}, {}, {"source_name": ""}, {"source_name": "the site"}):
            await of.publish("./site", **options)
            await of.publish(folder / "site", ["/pages"], **options)
            await of.delete(["/pages/gone"])
        with pytest.raises(RootFilled):
            await of.publish("./other", source_name="another site")
        await of.publish("./other", source_name="the site")  # as one that is built elsewhere every time
        await of.delete(["/"])
        await of.publish("./large")  # nothing is there any more

    on_board(folder, work)


def test_content_of_another_source_below_the_root_prevents_its_replacement(folder: Path) -> None:
    async def work(board: Callboard) -> None:
        of = board.publisher()
        await of.publish("./site")
        await of.publish("./other", at="/other")
        with pytest.raises(RootFilled, match="/pages"):
            await of.publish("./other", at="/pages")
        with pytest.raises(RootFilled, match=r"came from '\S+other' by publisher 'main' \(offset \d+\);"):
            await of.publish("./site")
        await of.delete(["/other"])
        await of.publish("./site")

    on_board(folder, work)


def test_the_paths_of_a_large_package_are_compared_as_well(folder: Path) -> None:
    (folder / "large" / "inline").write_bytes(bytes(60_000))
    for number in range(15):
        (folder / "large" / f"file{number}").write_bytes(number.to_bytes() * 60_000)

    async def work(board: Callboard) -> None:
        of = board.publisher()
        await of.publish("./large")
        await of.publish("./other", at="/other")
        with pytest.raises(RootFilled):
            await of.publish("./other", at="/pages")

    on_board(folder, work)


def test_removing_everything_is_refused_if_another_source_has_shipped(folder: Path) -> None:
    async def work(board: Callboard) -> None:
        await board.publisher("main").publish("./site")
        with pytest.raises(RootFilled, match="removes everything"):
            await board.publisher("second").delete(["/"])
        await board.publisher("main").delete(["/"])
        await board.publisher("main").publish("./site")
        await board.publisher("main").publish("./other", at="/other")
        with pytest.raises(RootFilled, match="name paths, or add --replace-root"):
            await board.publisher("main").delete(["/"])
        await board.publisher("main").delete(["/"], replace_root=True)

    on_board(folder, work)


def test_a_root_counts_as_filled_only_for_the_recipients_of_its_packages(folder: Path) -> None:
    async def work(board: Callboard) -> None:
        of = board.publisher()
        await of.publish("./site", recipients=["edge-1"], expect=True)
        await of.publish("./other", recipients=["edge-2"], expect=True)
        for recipients in ([], ["edge-1"], ["edge-1", "edge-2"]):
            with pytest.raises(RootFilled):
                await of.publish("./other", recipients=recipients, expect=True)
        await of.publish("./other", recipients=["edge-2"], expect=True)

    on_board(folder, work)


def test_a_repeated_request_gets_its_answer_even_if_another_source_has_filled_the_root_since(folder: Path) -> None:
    async def work(board: Callboard) -> None:
        first = await board.publisher().publish("./site", request_id="r1")
        await board.publisher().publish("./other", replace_root=True)
        assert await board.publisher().publish("./site", request_id="r1") == first

    on_board(folder, work)


def test_a_repair_counts_as_the_package_that_it_repairs(folder: Path) -> None:
    async def work(board: Callboard) -> None:
        await board.publisher().publish("./site")
        async with board.subscriber("edge-1", into="./out") as edge:
            await edge.caught_up()
            (folder / "out" / "pages" / "site.html").unlink()
            await board.repair("edge-1", await board.verify("edge-1"))
            await edge.caught_up()
        assert tree(folder / "out") == {"pages/site.html"}
        await board.publisher().publish("./site")

    on_board(folder, work)


def test_an_empty_source_is_not_shipped_to_its_root(folder: Path) -> None:
    (folder / "unmounted").mkdir()

    async def work(board: Callboard) -> None:
        assert (await board.publisher().publish("./unmounted", at="/a/b")).state == "dropped"

    on_board(folder, work)


@pytest.mark.parametrize("at", ["site", "/../etc", "/.callboard", "", 7, "/a/", "/x" * 2000])
def test_an_invalid_root_of_a_source_is_refused(folder: Path, at: Any) -> None:
    async def work(board: Callboard) -> None:
        with pytest.raises(RequestRefused):
            await board.publisher().publish("./site", at=at)

    on_board(folder, work)


def test_a_link_in_a_source_with_a_root_stays_inside_the_source(folder: Path) -> None:
    (folder / "other" / "out").symlink_to("../site/secret")

    async def work(board: Callboard) -> None:
        with pytest.raises(RequestRefused, match="out of the root"):
            await board.publisher().publish("./other", at="/other")

    on_board(folder, work)
