"""Relays between boards, on one event loop."""

import asyncio
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from callboard import Callboard, ConfigError
from callboard.board.subscriber import Subscriber
from callboard.errors import NotAnswered, RepositoryUnavailable
from callboard.messages.distribution.topic_messages import DiscoveryMessage
from callboard.messages.headers import told_in
from callboard.messages.relayed import origin_of
from tests.unit.board.relay.relayed_boards import QUICK, boards, packages, relay, run


@pytest.fixture
def source(tmp_path: Path) -> Path:
    folder = tmp_path / "source"
    (folder / "blog").mkdir(parents=True)
    (folder / "blog" / "a.txt").write_text("a")
    (folder / "large.bin").write_bytes(b"large" * 100_000)
    return folder


async def until(its: Subscriber, condition: Callable[[DiscoveryMessage], bool]) -> DiscoveryMessage:
    """Its first report that meets the condition."""
    while not condition(said := await its.report()):  # noqa: ASYNC110 - what it says is asked for
        await asyncio.sleep(0.05)
    return said


def files(folder: Path, pattern: str) -> dict[Path, bytes]:
    return {path: path.read_bytes() for path in folder.glob(pattern)}


def set_back(folder: Path, pattern: str, before: dict[Path, bytes]) -> None:
    for path in folder.glob(pattern):
        path.unlink()
    for path, content in before.items():
        path.write_bytes(content)


async def blobs(board: Callboard) -> set[str]:
    return {info.digest async for info in board.context.blobs.list()}


def test_a_package_arrives_with_its_id_its_headers_its_bytes_and_its_blobs(tmp_path: Path, source: Path) -> None:
    async def work() -> None:
        async with boards(tmp_path, "centre", "berlin") as (centre, berlin):
            await centre.publisher("main").publish(source)
            async with relay(centre, berlin, "berlin") as its:
                await its.caught_up()
            (original,), (copy,) = await packages(centre), await packages(berlin)
            assert copy.payload == original.payload
            assert told_in(copy.headers).items() >= told_in(original.headers).items()
            came, log_id = origin_of(copy), await centre.log.identity(centre.settings.topics.package)
            assert came is not None
            assert (came.relay, came.path) == ("berlin", ((log_id, original.offset),))
            assert await blobs(berlin) == await blobs(centre) != set()
            async with berlin.subscriber("edge", tmp_path / "out", **QUICK) as edge:
                await edge.caught_up()
            assert (tmp_path / "out" / "large.bin").read_bytes() == (source / "large.bin").read_bytes()

    run(work())


@pytest.mark.parametrize("same_ledger", [True, False])
def test_a_relay_that_starts_again_appends_nothing_twice(tmp_path: Path, source: Path, same_ledger: bool) -> None:
    async def work() -> None:
        async with boards(tmp_path, "centre", "berlin") as (centre, berlin):
            publisher = centre.publisher("main")
            for number in range(5):
                await publisher.invalidate([f"/{number}"])
                async with relay(centre, berlin, ledger="one" if same_ledger else f"l{number}") as its:
                    await its.caught_up()
            origins = [came.last[1] for record in await packages(berlin) if (came := origin_of(record))]
            assert origins == [record.offset for record in await packages(centre)]

    run(work())


def test_what_was_appended_before_a_crash_is_found_at_the_site(tmp_path: Path) -> None:
    """The ledger is set back, as if the relay had died between its append and its ledger."""

    async def work() -> None:
        async with boards(tmp_path, "centre", "berlin") as (centre, berlin):
            await centre.publisher("main").invalidate(["/0"])
            async with relay(centre, berlin, ledger="one") as its:
                await its.caught_up()
            before = files(tmp_path, "one.ledger*")
            for number in range(1, 4):
                await centre.publisher("main").invalidate([f"/{number}"])
            async with relay(centre, berlin, ledger="one") as its:
                await its.caught_up()
            set_back(tmp_path, "one.ledger*", before)
            await centre.publisher("main").invalidate(["/4"])
            async with relay(centre, berlin, ledger="one") as its:
                await its.caught_up()
                assert (await its.report()).imported == 5
            origins = [came.last[1] for record in await packages(berlin) if (came := origin_of(record))]
            assert origins == [record.offset for record in await packages(centre)]

    run(work())


def test_publishers_and_paths_select_packages(tmp_path: Path, source: Path) -> None:
    async def work() -> None:
        async with boards(tmp_path, "centre", "berlin") as (centre, berlin):
            await centre.publisher("main").publish(source, ["/blog"])
            await centre.publisher("other").publish(source, ["/blog"])
            await centre.publisher("main").publish(source, ["/large.bin"])
            await centre.publisher("main").test()
            async with relay(centre, berlin, follows=("main",), include=("/blog/**",)) as its:
                await its.caught_up()
            found = [told_in(record.headers) for record in await packages(berlin)]
            assert [(each["publisher"], each["kind"]) for each in found] == [("main", "ADD"), ("main", "TEST")]
            assert await blobs(berlin) == set()

    run(work())


def test_recipients_are_named_by_the_site_first(tmp_path: Path) -> None:
    async def work() -> None:
        async with boards(tmp_path, "centre", "berlin") as (centre, berlin):
            publisher = centre.publisher("main")
            for number, to in enumerate((["berlin"], ["berlin/edge-1", "lima/edge-1"], ["edge-1"], ["lima"])):
                await publisher.invalidate([f"/{number}"], recipients=to, expect=True)
            async with relay(centre, berlin, "berlin") as its:
                await its.caught_up()
            found = [told_in(record.headers).get("recipients", "") for record in await packages(berlin)]
            assert found == ["", "edge-1"]

    run(work())


def test_two_boards_that_relay_to_each_other_send_nothing_back(tmp_path: Path) -> None:
    async def work() -> None:
        async with boards(tmp_path, "a", "b") as (a, b):
            async with relay(a, b, "b") as to_b, relay(b, a, "a") as to_a:
                for number in range(3):
                    await a.publisher("of-a").invalidate([f"/a{number}"])
                    await b.publisher("of-b").invalidate([f"/b{number}"])
                for its in (to_b, to_a, to_b, to_a):
                    await its.caught_up()
            for board in (a, b):
                found = [told_in(record.headers)["publisher"] for record in await packages(board)]
                assert sorted(found) == ["of-a"] * 3 + ["of-b"] * 3

    run(work())


def test_a_package_goes_through_several_relays_and_names_them_all(tmp_path: Path) -> None:
    async def work() -> None:
        async with boards(tmp_path, "a", "b", "c") as (a, b, c):
            async with relay(a, b, "b") as to_b, relay(b, c, "c") as to_c:
                await a.publisher("main").invalidate(["/x"])
                await to_b.caught_up()
                await to_c.caught_up()
            (copy,) = await packages(c)
            came = origin_of(copy)
            assert came is not None
            topic = a.settings.topics.package
            assert [log for log, _ in came.path] == [await a.log.identity(topic), await b.log.identity(topic)]

    run(work())


def test_the_centre_hears_of_a_site_what_all_of_it_has(tmp_path: Path) -> None:
    async def work() -> None:
        async with (
            boards(tmp_path, "centre", "berlin") as (centre, berlin), relay(centre, berlin) as its,
            berlin.subscriber("quick", tmp_path / "quick", **QUICK) as quick,
            berlin.subscriber("slow", tmp_path / "slow", **QUICK),
        ):
            await centre.publisher("main").invalidate(["/0"])
            await its.caught_up()
            await berlin.pause("slow", reason="to lag behind")
            package = await centre.publisher("main").invalidate(["/1"])
            await its.caught_up()
            await quick.caught_up()
            said = await until(its, lambda said: said.site is not None and said.site.oldest_ns > 0)
            assert said.site is not None
            assert said.offset == package.offset - 1 == said.site.offset
            assert said.site.relayed == package.offset
            assert (said.site.subscribers, [each.name for each in said.site.worst]) == (2, ["slow"])
            assert said.site.worst[0].offset == package.offset - 1
            await berlin.resume("slow")
            await until(its, lambda said: said.offset == package.offset)

    run(work())


def test_a_replaced_log_of_the_site_stops_the_relay_which_says_so(tmp_path: Path) -> None:
    async def work() -> None:
        async with boards(tmp_path, "centre", "one", "two") as (centre, one, two):
            await centre.publisher("main").invalidate(["/0"])
            async with relay(centre, one, ledger="l") as its:
                await its.caught_up()
            with pytest.raises(RepositoryUnavailable, match=r"was replaced.*another ledger"):
                await relay(centre, two, ledger="l").start()
            async with relay(centre, two, ledger="new") as its:
                await its.caught_up()
            assert len(await packages(two)) == 1

    run(work())


def test_a_relay_waits_for_the_log_of_its_site(tmp_path: Path) -> None:
    """The folder of the site's log is away for a while."""

    async def work() -> None:
        async with boards(tmp_path, "centre", "berlin") as (centre, berlin), relay(centre, berlin) as its:
            await its.caught_up()
            (tmp_path / "berlin.db").rename(tmp_path / "away")
            await centre.publisher("main").invalidate(["/0"])
            with pytest.raises(NotAnswered, match="waiting"):
                await its.caught_up(2)
            (tmp_path / "away").rename(tmp_path / "berlin.db")
            await its.caught_up()

    run(work())


@pytest.mark.parametrize(
    ("name", "options", "words"),
    [
        ("a/b", {}, "name"),
        ("", {}, "name"),
        ("berlin", {"ledger": ""}, "ledger"),
        ("berlin", {"ledger": "sqlite:nowhere/berlin.db"}, "does not exist; create it"),
        ("berlin", {"ledger": "nowhere/berlin"}, "does not exist; create it"),
        ("berlin", {"coalesce": True}, "coalesce"),
        ("berlin", {"on_give_up": "quarantine"}, "on_give_up"),
        ("berlin", {"parallel": 0}, "parallel"),
    ],
)
def test_wrong_options_are_refused(tmp_path: Path, name: str, options: dict[str, Any], words: str) -> None:
    async def work() -> None:
        async with boards(tmp_path, "centre", "berlin") as (centre, berlin):
            with pytest.raises((ConfigError, TypeError), match=words):
                centre.relay(name, berlin, **{"ledger": "sqlite:l", **options})

    run(work())


def test_a_relay_to_the_log_that_it_reads_is_refused(tmp_path: Path) -> None:
    async def work() -> None:
        async with boards(tmp_path, "centre") as (centre,):
            with pytest.raises(ConfigError, match="the log that it reads"):
                centre.relay("berlin", centre, ledger="sqlite:l")
            async with Callboard(f"sqlite:///{tmp_path}/centre.db") as same:
                with pytest.raises(ConfigError, match="the log that it reads"):
                    await centre.relay("berlin", same, ledger="sqlite:l").start()
            with pytest.raises(ConfigError, match="pass an open Callboard"):
                centre.relay("berlin", "sqlite:///./b.db", ledger="sqlite:l")  # type: ignore[arg-type]

    run(work())
