"""A board in memory delivers to fleets, fails imports as told, and runs jobs when the test says so."""

import asyncio
import threading
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest

from callboard import Backoff, CancelJob, ConfigError, HookCall, JobRegistry, JobState, NewJob, RequestRefused, RetryJob
from callboard.testing.boards import MemoryBoard
from callboard.testing.boards import sync as blocking

DEADLINE_S = 60.0

jobs = JobRegistry()


@jobs.job("greet")
def greet(name: str) -> str:
    return f"hello {name}"


@jobs.job("fail", retries=1)
def fail(reason: str) -> None:
    raise {"later": RetryJob, "never": CancelJob}.get(reason, ValueError)(reason)


def run(folder: Path, scenario: Callable[[MemoryBoard], Awaitable[None]]) -> None:
    async def within() -> None:
        async with asyncio.timeout(DEADLINE_S), MemoryBoard(folder) as test:
            await scenario(test)

    asyncio.run(within())


@pytest.fixture
def site(tmp_path: Path) -> Path:
    (tmp_path / "site").mkdir()
    (tmp_path / "site" / "index.html").write_text("hello")
    return tmp_path / "site"


def test_a_fleet_has_what_was_published_each_in_a_folder_of_its_own(site: Path) -> None:
    async def scenario(test: MemoryBoard) -> None:
        fleet = await test.fleet(2)
        more = await test.fleet(["paris"], exclude=("*.html",))
        await test.board.publisher("site").publish("site")
        await asyncio.gather(fleet.deliver_all(), more.deliver_all())
        assert [each.name for each in fleet] == ["edge-1", "edge-2"]
        assert {(each.into / "index.html").read_text() for each in fleet} == {"hello"}
        assert not (more["paris"].into / "index.html").exists()
        assert [each.name for each in await test.fleet()] == ["edge-4"]

    run(site.parent, scenario)


def test_an_import_fails_as_often_as_told_and_for_this_reason(site: Path) -> None:
    calls = []

    async def scenario(test: MemoryBoard) -> None:
        [edge] = fleet = await test.fleet(before_import=lambda call: calls.append(call.attempt))
        edge.fail_next_import(2, reason="the disk is full")
        for _ in range(3):
            await test.board.publisher("site").publish("site", full=True)
        await fleet.deliver_all()
        assert 3 in calls, "the third attempt is the first that gets as far as the hook"
        assert (edge.into / "index.html").exists()

    run(site.parent, scenario)


def test_who_does_not_have_everything_is_named_with_the_reasons(site: Path) -> None:
    async def scenario(test: MemoryBoard) -> None:
        fleet = await test.fleet(["oslo", "paris", "rome"], max_retries=0)
        [stuck] = more = await test.fleet(["stuck"], max_retries=0, on_give_up="block")
        fleet["oslo"].fail_next_import(reason="the disk is full")
        stuck.fail_next_import(reason="no permission")
        await test.board.publisher("site").publish("site")
        with pytest.raises(AssertionError, match=r"^1 of 3 subscribers do not have everything:\noslo (?s:.*)disk is"):
            await fleet.deliver_all()
        with pytest.raises(AssertionError, match=r"stuck is blocked .*no permission"):
            await more.deliver_all()

    run(site.parent, scenario)


def test_what_takes_too_long_is_named_with_what_it_waits_for(site: Path) -> None:
    async def scenario(test: MemoryBoard) -> None:
        [edge] = fleet = await test.fleet(retry=Backoff(first_s=3600, max_s=3600))
        edge.fail_next_import(reason="the disk is full")
        await test.board.publisher("site").publish("site")
        with pytest.raises(AssertionError, match=r"edge-1 is not caught up within 0.5 s.*the disk is full"):
            await fleet.deliver_all(timeout_s=0.5)
        await test.clock.advance(hours=2)
        await fleet.deliver_all()

    run(site.parent, scenario)


def test_a_subscriber_that_was_stopped_is_started_again(site: Path) -> None:
    async def scenario(test: MemoryBoard) -> None:
        [edge] = fleet = await test.fleet()
        await edge.subscriber.stop()
        await test.board.publisher("site").publish("site")
        assert not (edge.into / "index.html").exists()
        await fleet.deliver_all()
        assert (edge.into / "index.html").exists()

    run(site.parent, scenario)


def test_jobs_run_until_none_is_due(tmp_path: Path) -> None:
    async def scenario(test: MemoryBoard) -> None:
        assert await test.run_jobs(jobs) == ()
        await test.board.jobs.add_all([
            greet.new("ann"), greet.new("bob", delay_s=60), fail.new("later"), fail.new("never"), NewJob(topic="other"),
        ])  # fmt: skip
        assert [(job.payload, job.state) for job in await test.run_jobs(jobs)] == [
            ("ann", JobState.SUCCEEDED), ("later", JobState.QUEUED), ("never", JobState.ERROR),
        ]  # fmt: skip
        await test.clock.advance(hours=1)
        assert {job.payload for job in await test.run_jobs(jobs)} == {"bob", "later"}
        [other] = (await test.board.jobs.find()).items
        assert other.topic == "other"

    run(tmp_path, scenario)


def test_what_a_job_raises_is_raised_to_the_test(tmp_path: Path) -> None:
    async def scenario(test: MemoryBoard) -> None:
        await test.board.jobs.add_all([fail.new("broken"), greet.new("ann")])
        with pytest.raises(ValueError, match="broken"):
            await test.run_jobs(jobs)
        [ann] = (await test.board.jobs.find("history")).items
        assert (await test.board.jobs.get(ann.id)).result == "hello ann"

    run(tmp_path, scenario)


def test_a_job_that_publishes_reaches_the_fleet(site: Path) -> None:
    async def scenario(test: MemoryBoard) -> None:
        async def build(name: str) -> int:
            return (await test.board.publisher(name).publish("site")).offset

        fleet = await test.fleet(2)
        await test.board.jobs.add("build", "site")
        [job] = await test.run_jobs({"build": build})
        await fleet.deliver_all()
        assert job.result == 1

    run(site.parent, scenario)


def test_it_is_the_same_without_an_event_loop(site: Path) -> None:
    called: list[HookCall] = []
    threads = threading.active_count()
    with blocking.MemoryBoard(site.parent) as test:
        fleet = test.fleet(2, after_import=called.append)
        edge = fleet["edge-2"]
        edge.fail_next_import()
        test.board.publisher("site").publish("site")
        fleet.deliver_all()
        assert {call.subscriber for call in called} == {"edge-1", "edge-2"}
        assert (edge.name, edge.subscriber.name, len(fleet)) == ("edge-2", "edge-2", 2)
        began = test.clock.now
        test.clock.advance(60)
        assert (test.clock.now - began).total_seconds() >= 60
        test.board.jobs.add("greet", "ann")
        assert [job.result for job in test.run_jobs(jobs)] == ["hello ann"]
    assert threading.active_count() == threads


@pytest.mark.parametrize(
    ("wrong", "words"),
    [
        (lambda test: test.fleet(0), "names is 0, but should be a whole number from 1 to 100"),
        (lambda test: test.fleet(True), "names is True, but should be a list of names, or how many"),
        (lambda test: test.fleet("paris"), r"names is 'paris', but should be a list, such as \['paris'\]"),
        (lambda test: test.fleet([]), "names is"),
        (lambda test: test.fleet(["oslo", "oslo"]), "none comes twice"),
        (lambda test: test.fleet(1)[["edge-1"]], r"no subscriber \['edge-1'\] in this fleet of edge-1"),
        (lambda test: test.fleet(["a/b"]), "a name"),
        (lambda test: test.fleet(1)["edge-2"], "no subscriber 'edge-2' in this fleet of edge-1"),
        (lambda test: test.fleet(1)["edge-1"].fail_next_import(-1), "times is -1"),
        (lambda test: test.fleet(1)["edge-1"].fail_next_import(reason=7), "reason is 7"),
        (lambda test: test.fleet(1).deliver_all("soon"), "timeout_s is 'soon'"),
        (lambda test: test.clock.advance(-1), "seconds is -1, but should be a number from 0 to"),
        (lambda test: test.clock.advance(days=8), "days is 8, but should be a number from 0 to 7"),
        (lambda test: test.run_jobs(7), "functions is 7"),
        (lambda test: test.run_jobs({}, slots=0), "slots is 0"),
    ],
)
def test_wrong_arguments_are_refused_in_words(
    tmp_path: Path, wrong: Callable[[blocking.MemoryBoard], Any], words: str
) -> None:
    with blocking.MemoryBoard(tmp_path) as test, pytest.raises((RequestRefused, ConfigError), match=words):
        wrong(test)


def test_an_option_that_does_not_exist_is_refused(tmp_path: Path) -> None:
    with blocking.MemoryBoard(tmp_path) as test, pytest.raises(TypeError, match="did you mean max_retries"):
        test.fleet(1, max_retry=1)  # type: ignore[call-arg]


def test_a_board_that_is_not_open_says_so(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="not open"):
        asyncio.run(MemoryBoard(tmp_path).fleet(1))
    with pytest.raises(ConfigError, match="not open"):
        blocking.MemoryBoard(tmp_path).board.publisher("site").test()
