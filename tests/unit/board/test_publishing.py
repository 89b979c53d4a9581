"""Requests and events as a service sees them, on a board."""

import asyncio
import threading
import time
from collections import Counter
from collections.abc import Coroutine, Iterator
from contextlib import aclosing
from pathlib import Path
from typing import Any

import pytest

from callboard import Callboard, ConfigError, Publishing, RequestRefused, sync
from callboard.board.read.events import BoardEvent
from callboard.errors import OffsetOutOfRange
from callboard.messages.distribution.package_event import KINDS
from callboard.messages.distribution.topic_messages import (
    DiscoveryMessage,
    LogMessage,
    PackageMessage,
    State,
    SubscriberConfiguration,
)
from callboard.messages.event import Event
from callboard.messages.headers import new_record, open_record

DEADLINE_S = 60.0
ALL = Publishing(events=KINDS)


@pytest.fixture
def site(tmp_path: Path) -> Path:
    (tmp_path / "site").mkdir()
    (tmp_path / "site" / "a.txt").write_text("one")
    return tmp_path / "site"


def run(work: Coroutine[Any, Any, None]) -> None:
    async def limited() -> None:
        async with asyncio.timeout(DEADLINE_S):
            await work

    asyncio.run(limited())


async def append(board: Callboard, topic: str, event: Event, **headers: str) -> None:
    record = new_record(event, record_id=str(time.monotonic_ns()), time_ns=time.time_ns(), producer="test", **headers)
    await board.log.append(topic, [record])


async def announce(board: Callboard, name: str, offset: int, *, editable: bool = True) -> None:
    """A subscriber with a single announcement."""
    topics = board.settings.topics
    configuration = SubscriberConfiguration(editable=editable, max_retries=-1)
    announcement = DiscoveryMessage(
        subscriber_instance="s", subscriber=name, configuration=configuration, state=State.BLOCKED, offset=offset,
        log_id=await board.log.identity(topics.package),
    )  # fmt: skip
    await append(board, topics.discovery, announcement)


async def packages(board: Callboard) -> list[PackageMessage]:
    topic = board.settings.topics.package
    (start, end), found = await board.log.bounds(topic), list[PackageMessage]()
    while start < end:
        records = await board.log.read(topic, start)
        found += [open_record(record, PackageMessage) for record in records]
        start = records[-1].offset + 1
    return found


async def take(board: Callboard, count: int, **how: Any) -> list[BoardEvent]:
    """This many events."""
    found: list[BoardEvent] = []
    async with aclosing(board.events(**how)) as events:
        async for event in events:
            found.append(event)
            if len(found) == count:
                break
    return found


@pytest.mark.proves("F11", "F12", "F15", "F25", "F26")
def test_every_kind_of_request_carries_its_user_metadata_and_recipients(tmp_path: Path, site: Path) -> None:
    async def work() -> None:
        async with Callboard("memory:", base=tmp_path) as board:
            of = board.publisher("site")
            options: Any = {"user": "ann", "metadata": {"ticket": "7"}, "recipients": ["edge-1"], "expect": True}
            answers = [
                await of.publish("./site", **options),
                await of.delete(["/a.txt"], **options),
                await of.invalidate(["/b"], **options),
                await of.test(**options),
            ]
            found = await packages(board)
            assert [package.kind.name for package in found] == ["ADD", "DELETE", "INVALIDATE", "TEST"]
            assert [package.package_id for package in found] == [answer.id for answer in answers]
            for package in found:
                assert (package.user, package.metadata, package.recipients) == ("ann", (("ticket", "7"),), ("edge-1",))
            for refused in (of.delete([]), of.invalidate([]), of.publish("./site", [])):
                with pytest.raises(RequestRefused, match=r"paths is \(\), but should be a list with at least"):
                    await refused

    run(work())


def test_a_package_reaches_only_its_recipients(tmp_path: Path, site: Path) -> None:
    async def work() -> None:
        async with Callboard("memory:", base=tmp_path) as board:
            await board.publisher("site").publish("./site", recipients=["edge-1"], expect=True)
            for name in ("edge-1", "edge-2"):
                async with board.subscriber(name, into=f"./{name}") as edge:
                    await edge.caught_up()
        assert (tmp_path / "edge-1" / "a.txt").exists()
        assert not (tmp_path / "edge-2" / "a.txt").exists()

    run(work())


@pytest.mark.proves("F13", "F16")
def test_an_empty_source_is_not_shipped_and_subscribers_keep_their_content(tmp_path: Path, site: Path) -> None:
    async def work() -> None:
        async with Callboard("memory:", base=tmp_path) as board:
            (tmp_path / "unmounted").mkdir()
            package = await board.publisher("site").publish("./unmounted")
            assert (package.state, package.offset) == ("dropped", -1)
            assert "delete its paths" in package.reason
            assert await packages(board) == []

    run(work())


@pytest.mark.proves("F19")
def test_a_package_above_the_limit_is_refused_with_its_size_and_the_name_of_the_setting(
    tmp_path: Path, site: Path
) -> None:
    async def work() -> None:
        async with Callboard("memory:", base=tmp_path, publishing=Publishing(max_package_mb=0.1)) as board:
            (site / "big").write_bytes(bytes(150_000))
            with pytest.raises(RequestRefused, match=r"0\.150 MB of files, more than max_package_mb = 0\.1") as refused:
                await board.publisher().publish("./site")
            assert refused.value.code == "too_large"
            assert (await board.publisher().publish("./site", ["/a.txt"])).state == "accepted"

    run(work())


@pytest.mark.proves("W8")
def test_a_request_repeated_after_a_restart_is_shipped_once(tmp_path: Path, site: Path) -> None:
    async def work() -> None:
        offsets = []
        for _ in range(2):
            async with Callboard("sqlite:///./board.db", base=tmp_path) as board:
                offsets.append((await board.publisher("site").publish("./site", request_id="r-1")).offset)
                assert len(await packages(board)) == 1
        assert offsets[0] == offsets[1]

    run(work())


@pytest.mark.proves("F68", "W8")
def test_two_processes_may_publish_under_one_name(tmp_path: Path, site: Path) -> None:
    """Two boards, as two processes have them. The order is the log's; what both are asked is shipped once."""

    async def work() -> None:
        async with (
            Callboard("sqlite:///./board.db", base=tmp_path, publishing=ALL) as one,
            Callboard("sqlite:///./board.db", base=tmp_path, publishing=ALL) as two,
        ):
            await asyncio.gather(
                *(board.publisher("site").test(request_id=f"r-{n}") for n in range(5) for board in (one, two)),
                *(board.publisher("site").test() for board in (one, two)),
            )
            found = await packages(one)
            requests = Counter(package.request_id for package in found if package.request_id.startswith("r-"))
            assert requests == {f"r-{n}": 1 for n in range(5)}
            assert len(found) == 7
            await announce(one, "edge", (await one.log.bounds(one.settings.topics.package)).end - 1)
            told = await take(two, 21, after=-1)
            assert Counter(event.kind for event in told) == {"created": 7, "queued": 7, "distributed": 7}
            assert len({event.key for event in told}) == 21

    run(work())


@pytest.mark.proves("F17", "W31")
def test_a_backlog_delays_requests_and_the_answer_says_how_long_and_by_which_subscriber(tmp_path: Path) -> None:
    publishing = Publishing(throttle_by="editable", throttle_at=2, throttle_max_s=0.2)

    async def work() -> None:
        async with Callboard("memory:", base=tmp_path, publishing=publishing) as board:
            await announce(board, "free", -1, editable=False)
            answers = [await board.publisher("site").delete(["/a"]) for _ in range(5)]
            assert [answer.throttled_s for answer in answers] == [0.0] * 5
            await announce(board, "slow", -1)
            answer = answers[0]
            while not answer.throttled_by:  # a measurement holds for a second
                answer, other = await asyncio.gather(
                    board.publisher("site").delete(["/a"]), board.publisher("shop").test()
                )
                assert other.throttled_by == "", "no other request waits"
            assert (answer.throttled_by, answer.throttled_s) == ("slow", 0.2)

    run(work())


@pytest.mark.proves("F66", "F92")
def test_a_service_follows_events_and_continues_after_the_last_one_that_it_saw(tmp_path: Path, site: Path) -> None:
    async def work() -> None:
        async with (
            Callboard("memory:", base=tmp_path, publishing=ALL) as board,
            board.subscriber("edge-1", into="./out", editable=True) as edge,
        ):
            coming = asyncio.ensure_future(take(board, 4))
            await asyncio.sleep(0)
            package = await board.publisher("site").publish("./site")
            await edge.caught_up()
            told = await coming
            assert {event.kind for event in told} == {"created", "queued", "imported", "distributed"}
            assert all((event.package_id, event.paths) == (package.id, ("/",)) for event in told)
            await board.publisher("shop").delete(["/a.txt"])
            later = await take(board, 1, after=told[-1].position, kinds=["distributed"], publisher="shop")
            assert [event.request for event in later] == ["DELETE"]
            assert [event async for event in board.events(after=-1, kinds=["imported"], follow=False)] != []
            with pytest.raises(OffsetOutOfRange):
                await take(board, 1, after=10**6)

    run(work())


def test_an_unknown_kind_of_event_is_refused() -> None:
    with pytest.raises(ConfigError, match="arrived', but should be one of created"):
        Publishing(events=("arrived",))


@pytest.mark.proves("F95")
def test_a_process_without_a_publisher_runs_no_publisher_actors_and_writes_no_events(
    tmp_path: Path, site: Path
) -> None:
    async def work() -> None:
        async with Callboard("memory:", base=tmp_path, publishing=ALL) as board:
            async with board.subscriber("edge-1", into="./out") as edge:
                await edge.caught_up()
                roles = {actor.role for actor in (await edge.start()).actors()}
                assert not roles & {"distributor", "notifier", "fleet", "queue_cache", "tail_poller"}
                await board.status()
            first, end = await board.log.bounds(board.settings.topics.event)
            assert first == end

    run(work())


@pytest.mark.proves("F66", "F59", "F90")
def test_a_publishers_log_contains_the_statuses_of_its_packages(tmp_path: Path) -> None:
    async def work() -> None:
        async with Callboard("memory:", base=tmp_path) as board:
            topic = board.settings.topics.discovery
            for publisher, message, trace in (
                ("site", "attempt 1: disk full", "Traceback: ..."), ("shop", "not ours", ""), ("site", "fine now", ""),
            ):  # fmt: skip
                said = LogMessage(
                    publisher=publisher, subscriber_instance="s", subscriber="edge-1", message=message, stacktrace=trace
                )
                await append(board, topic, said)
            package = await board.publisher("site").delete(["/a"])
            await announce(board, "edge-1", package.offset)
            await take(board, 1, after=-1)
            lines = await board.publisher("site").log()
            assert [(line.level, line.subscriber, line.message) for line in lines[:2]] == [
                ("warning", "edge-1", "attempt 1: disk full"), ("info", "edge-1", "fine now"),
            ]  # fmt: skip
            assert lines[0].details == "Traceback: ..."
            assert lines[2].message == f"all subscribers have package {package.id} at offset {package.offset}: /a"
            assert await board.publisher("site").log(1) == lines[2:]

    run(work())


def test_code_without_an_event_loop_iterates_over_events(tmp_path: Path, site: Path) -> None:
    with sync.Callboard("memory:", base=tmp_path, publishing=Publishing(events=("created",))) as board:
        package = board.publisher("site").publish("./site")
        told = next(iter(board.events(after=-1)))
        assert (told.kind, told.package_id) == ("created", package.id)
        assert [event.kind for event in board.events(after=-1, follow=False)] == ["created"]
        assert board.publisher("site").log() == []


def test_a_publisher_with_actors_in_processes_writes_events(tmp_path: Path, site: Path) -> None:
    async def work() -> None:
        publishing = Publishing(events=("queued",), throttle_by="all")
        async with Callboard("sqlite:///./b", base=tmp_path, runtime="processes", publishing=publishing) as board:
            package = await board.publisher("site").publish("./site")
            (event,) = await take(board, 1, after=-1)
            assert (event.kind, event.package_id) == ("queued", package.id)

    run(work())


@pytest.mark.parametrize("log", ["memory:", "sqlite:///./board.db"])
def test_events_end_when_the_board_closes(log: str, site: Path, tmp_path: Path) -> None:
    async def follow(board: Callboard, seen: asyncio.Event) -> list[str]:
        told = []
        async for event in board.events(after=-1):
            told.append(event.kind)
            seen.set()
        return told

    async def scenario() -> list[str]:
        seen = asyncio.Event()
        async with asyncio.timeout(60):
            async with Callboard(log, base=tmp_path, publishing=ALL) as board:
                following = asyncio.create_task(follow(board, seen))
                await board.publisher("site").publish(site)
                await seen.wait()
                unbegun = board.events()
            assert [event async for event in unbegun] == []
            return await following

    assert asyncio.run(scenario())[0] in {"created", "queued"}


def test_events_end_for_another_thread_when_the_board_closes(site: Path) -> None:
    seen, told = threading.Event(), list[str]()

    def follow(events: Iterator[BoardEvent]) -> None:
        for event in events:
            told.append(event.kind)
            seen.set()
        told.append("end")

    with sync.Callboard("memory:", publishing=ALL) as board:
        thread = threading.Thread(target=follow, args=(board.events(after=-1),))
        thread.start()
        board.publisher("site").publish(site)
        assert seen.wait(60)
    thread.join(60)
    assert told[-1] == "end"


def test_a_request_id_that_was_used_for_another_request_is_refused(tmp_path: Path, site: Path) -> None:
    (tmp_path / "other").mkdir()
    (tmp_path / "other" / "b.txt").write_text("two")

    async def work() -> None:
        log = f"sqlite:///{tmp_path}/board.db"
        async with Callboard(log, base=tmp_path) as board:
            first = await board.publisher("site").publish("./site", request_id="r1", metadata={"ticket": "7"})
        async with Callboard(log, base=tmp_path) as board:  # another process knows it from the log alone
            of = board.publisher("site")
            ask: Any = {"request_id": "r1", "metadata": {"ticket": "7"}, "replace_root": True}
            for _ in range(2):
                for refused in (
                    of.publish("./other", **ask),
                    of.publish("./site", ["/a.txt"], **ask),
                    of.publish("./site", ["/a.txt"], deep=False, **ask),
                    of.publish("./site", at="/x", **ask),
                    of.publish("./site", **ask | {"metadata": {"ticket": "8"}}),
                    of.publish("./site", **ask, recipients=["edge-1"], expect=True),
                    of.delete(["/"], **ask),
                    of.test(request_id="r1"),
                ):
                    with pytest.raises(RequestRefused, match="'r1' was used before, for a different request"):
                        await refused
            (site / "a.txt").write_text("changed since")
            assert (await of.publish("./site", **ask, user="another")).offset == first.offset
            assert len(await packages(board)) == 1
            assert (await board.publisher("second").test(request_id="r1")).offset != first.offset
            both = await asyncio.gather(
                of.delete(["/a"], request_id="r2"), of.delete(["/b"], request_id="r2"), return_exceptions=True
            )
            assert sorted(isinstance(answer, RequestRefused) for answer in both) == [False, True]

    run(work())


def test_a_publisher_may_be_named_viewer(tmp_path: Path, site: Path) -> None:
    async def work() -> None:
        async with Callboard("memory:", base=tmp_path, publishing=ALL) as board:
            await board.status()  # by the agent that only looks
            package = await board.publisher("viewer").publish("./site")
            (event,) = await take(board, 1, after=-1)
            assert (event.publisher, event.package_id) == ("viewer", package.id)
            assert "viewer" in await board.metrics()

    run(work())
