"""Schedules on a board in memory."""

import asyncio
from collections import Counter
from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from callboard import NewJob, daily
from callboard.board.jobs.board_jobs import BoardJobs
from callboard.errors import RequestRefused
from callboard.messages.headers import new_record
from callboard.messages.jobs.job_messages import ScheduleMessage
from tests.unit.board.jobs.test_jobs import run


def test_a_worker_runs_the_jobs_of_schedules(tmp_path: Path) -> None:
    async def scenario(jobs: BoardJobs) -> None:
        done = asyncio.Queue[object]()
        async with jobs.worker({"a": done.put}):
            set_to = await jobs.schedule("often", "a", "payload", every_s=1)
            assert await done.get() == "payload"
        [state] = await jobs.schedules()
        assert state.last_ms >= set_to.next_ms
        assert state.next_ms > state.last_ms

    run(tmp_path, scenario)


def test_ten_thousand_schedules_that_are_due_at_once_add_a_job_each_and_hold_up_no_other_job(tmp_path: Path) -> None:
    many, runs = 10_000, Counter[int]()
    all_ran, other_ran = asyncio.Event(), list[int]()

    async def tick(number: int) -> None:
        runs[number] += 1
        if len(runs) == many:
            all_ran.set()

    async def other() -> None:
        other_ran.append(len(runs))

    async def scenario(jobs: BoardJobs) -> None:
        log, now_ns = jobs._board.log, jobs._board.now_ns()
        await log.ensure(jobs._topic)
        for first in range(0, many, 1000):
            await log.append(jobs._topic, [
                new_record(
                    ScheduleMessage(name=f"s{number}", topic="tick", payload=b"%d" % number, at_ms=now_ns // 10**6),
                    record_id=f"s{number}", time_ns=now_ns, producer="p",
                )
                for number in range(first, first + 1000)
            ])  # fmt: skip
        _, before = await log.bounds(jobs._topic)
        async with jobs.worker({"tick": tick, "other": other}, slots=50):
            while not runs:  # noqa: ASYNC110 - until the ticks have begun
                await asyncio.sleep(0)
            await jobs.wait((await jobs.add("other")).id)
            await all_ran.wait()
        assert runs == dict.fromkeys(range(many), 1)
        assert other_ran[0] < many, "it waited for all ticks"
        _, end = await log.bounds(jobs._topic)
        assert end - before < 1.2 * many, "each tick is a record, and many are leased and have ended in one"
        assert await jobs.schedules() == ()

    run(tmp_path, scenario)


@pytest.mark.proves("J82")
def test_a_schedule_is_listed_replaced_suspended_and_removed(tmp_path: Path) -> None:
    async def scenario(jobs: BoardJobs) -> None:
        state = await jobs.schedule(
            "nightly", "mail/send", {"to": "x"}, cron=[daily(3, 30), "0 12 * * SUN"], zone="Europe/Berlin",
            catch_up=3, author="ann", priority=5, unique="nightly",
        )  # fmt: skip
        assert state.job == NewJob(topic="mail/send", payload={"to": "x"}, priority=5, unique="nightly")
        assert (state.cron, state.zone, state.catch_up) == (("30 3 * * *", "0 12 * * SUN"), "Europe/Berlin", 3)
        assert (state.author, state.last_ms, state.suspended, state.problem) == ("ann", 0, False, "")
        assert state.next_ms > 0
        assert await jobs.suspend_schedule("nightly", reason="full")
        again = await jobs.schedule("nightly", "mail/send", cron=daily(4), catch_up="skip")
        assert (again.suspended, again.next_ms, again.cron, again.catch_up) == (True, 0, ("0 4 * * *",), 0)
        assert await jobs.resume_schedule("nightly")
        await jobs.schedule("hourly", "a", every_s=3600.5, suspended=True)
        assert [each.name for each in await jobs.schedules()] == ["hourly", "nightly"]
        [hourly] = await jobs.schedules("a")
        assert (hourly.every_s, hourly.suspended) == (3600.5, True)
        [one, two] = await jobs.next_ticks("nightly", 2)
        assert one < two <= one + 86_400_000 + 3_600_000
        run_now = await jobs.run_schedule("nightly")
        assert (run_now.topic, await jobs.next_ticks("hourly")) == ("mail/send", ())
        for ask in (jobs.next_ticks, jobs.run_schedule):
            with pytest.raises(RequestRefused, match="there is no schedule 'x'"):
                await ask("x")
        assert await jobs.unschedule("nightly")
        for change in (jobs.unschedule, jobs.suspend_schedule, jobs.resume_schedule):
            assert not await change("nightly")
        assert len(await jobs.schedules()) == 1

    run(tmp_path, scenario)


def test_a_time_without_a_zone_is_in_the_zone_of_the_schedule(tmp_path: Path) -> None:
    async def scenario(jobs: BoardJobs) -> None:
        here = await jobs.schedule("a", "a", at=datetime(2099, 7, 1, 12), zone="Europe/Berlin")  # noqa: DTZ001 - tested
        there = await jobs.schedule("b", "a", at=datetime(2099, 7, 1, 12, tzinfo=UTC), zone="Europe/Berlin")
        assert there.next_ms - here.next_ms == 2 * 3_600_000

    run(tmp_path, scenario)


@pytest.mark.proves("J77")
@pytest.mark.parametrize(
    ("given", "text"),
    [
        ({}, "one of cron, every_s and at"),
        ({"cron": "0 0 * * *", "every_s": 5}, "one of cron, every_s and at"),
        ({"cron": "61 * * * *"}, "cron is wrong: '61 [*] [*] [*] [*]' is no cron expression: Bad minute"),
        ({"cron": "0 0 * *"}, "Wrong number of fields"),
        ({"cron": "0 0 31 2 *"}, "Bad day-of-month"),
        ({"cron": ["0 0 * * *", 7]}, r"cron\[1\] is 7, but should be a cron expression"),
        ({"cron": "0 0 * * *", "zone": "Mars/Base"}, "zone is 'Mars/Base', but should be the name of a time zone"),
        (
            {"cron": "0 0 * * *", "catch_up": "all"},
            "catch_up is 'all', but should be 'skip', 'last', or a whole number",
        ),
        ({"cron": "0 0 * * *", "catch_up": -1}, "catch_up is -1"),
        ({"cron": "0 0 * * *", "name": ""}, "name is ''"),
        ({"cron": "0 0 * * *", "topic": "a b"}, "topic is 'a b'"),
        ({"cron": "0 0 * * *", "payload": "x" * 17_000}, "the size of the payload is 17002, not 0 to 16384"),
        ({"cron": "0 0 * * *", "delay_s": 5}, "leave out delay_s"),
        ({"cron": "0 0 * * *", "priority": 101}, "priority is 101"),
        ({"every_s": 0.5}, "every_s is 0.5, but should be a number from 1"),
        ({"at": datetime(2020, 1, 1, tzinfo=UTC)}, "at is 2020-01-01 00:00:00[+]00:00, which is past"),
        ({"at": "tomorrow"}, "at is 'tomorrow', but should be a datetime"),
    ],
)
def test_a_schedule_that_makes_no_sense_is_refused(tmp_path: Path, given: Mapping[str, Any], text: str) -> None:
    async def scenario(jobs: BoardJobs) -> None:
        with pytest.raises(RequestRefused, match=text):
            await jobs.schedule(**{"name": "s", "topic": "a", **given})
        assert await jobs.schedules() == ()

    run(tmp_path, scenario)
