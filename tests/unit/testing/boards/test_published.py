"""A test asks what a publisher has published, and is told what else there is."""

import asyncio
from pathlib import Path
from typing import Any

import pytest

from callboard import Callboard, ConfigError, Kind, RequestRefused
from callboard import sync as blocking
from callboard.testing.boards import MemoryBoard, assert_not_published, assert_published, published
from callboard.testing.boards.sync import MemoryBoard as BlockingBoard


@pytest.fixture
def site(tmp_path: Path) -> Path:
    (tmp_path / "site" / "blog").mkdir(parents=True)
    (tmp_path / "site" / "index.html").write_text("hello")
    (tmp_path / "site" / "blog" / "rain.html").write_text("It rains.")
    return tmp_path / "site"


def test_paths_kinds_and_numbers_are_compared(site: Path) -> None:
    with BlockingBoard(site.parent) as test:
        publisher = test.board.publisher("site")
        publisher.publish("site")
        publisher.publish("site", ["/blog"], full=True)
        publisher.delete(["/blog/rain.html"])
        publisher.invalidate(["/index.html"])
        test.board.publisher("other").test()
        assert_published(publisher)
        assert_published(publisher, times=4)
        assert_published(publisher, path="/blog/rain.html", kind="ADD", times=2)
        assert_published(publisher, path="/blog", kind=Kind.ADD, times=2)
        assert_published(publisher, path="/", times=1)
        assert_published(publisher, path="/blog/rain.html", kind=Kind.DELETE, times=1)
        assert_not_published(publisher, path="/snow.html")
        assert_not_published(publisher, kind="TEST")
        assert [each.kind for each in published(publisher)] == [Kind.ADD, Kind.ADD, Kind.DELETE, Kind.INVALIDATE]


def test_a_failure_says_what_there_is(site: Path) -> None:
    with BlockingBoard(site.parent) as test:
        publisher = test.board.publisher("site")
        publisher.publish("site", ["/blog"])
        with pytest.raises(AssertionError) as failed:
            assert_published(publisher, path="/snow.html", kind="ADD")
        assert str(failed.value).splitlines() == [
            "site has published ADD /snow.html never; it has published:", "offset 1: ADD /blog /blog/rain.html",
        ]  # fmt: skip
        with pytest.raises(AssertionError, match="site has published a package 1 times, not 2 times"):
            assert_published(publisher, times=2)
        with pytest.raises(AssertionError, match="/blog 1 times, not 0 times"):
            assert_not_published(publisher, path="/blog")
        with pytest.raises(AssertionError, match="nothing; publishers with packages: site"):
            assert_published(test.board.publisher("sight"))


def test_a_package_in_the_blob_store_is_looked_into(site: Path) -> None:
    for number in range(30):
        (site / f"{number}.bin").write_bytes(bytes([number]) * 60_000)
    with BlockingBoard(site.parent) as test:
        test.board.publisher("site").publish("site")
        assert_published(test.board.publisher("site"), path="/29.bin")


def test_it_is_called_without_await_in_an_asynchronous_test(site: Path) -> None:
    async def scenario() -> None:
        async with MemoryBoard(site.parent) as test:
            await test.board.publisher("site").publish("site")
            assert_published(test.board.publisher("site"), path="/index.html")
        async with Callboard("memory:", base=site.parent) as board:
            await board.publisher("site").publish("site")
            assert_published(board.publisher("site"), path="/index.html")

    asyncio.run(scenario())


@pytest.mark.parametrize(
    ("wrong", "words"),
    [
        ({"publisher": "site"}, r"'site' is no publisher; give one, such as board.publisher\('site'\)"),
        ({"path": "index.html"}, "index.html"),
        ({"path": 7}, "path is 7, but should be a path of content"),
        ({"kind": "PUT"}, "kind is 'PUT', but should be one of ADD"),
        ({"times": -1}, "times is -1"),
        ({"times": True}, "times is True"),
    ],
)
def test_wrong_arguments_are_refused_in_words(tmp_path: Path, wrong: dict[str, Any], words: str) -> None:
    with BlockingBoard(tmp_path) as test, pytest.raises(RequestRefused, match=words):
        assert_published(**{"publisher": test.board.publisher("site"), **wrong})


def test_other_boards_are_refused(tmp_path: Path) -> None:
    with blocking.Callboard("sqlite:///./log", base=tmp_path) as board, pytest.raises(ConfigError, match="in memory"):
        assert_published(board.publisher("site"))
    with pytest.raises(ConfigError, match="not open"):
        published(blocking.Callboard("memory:").publisher("site"))
