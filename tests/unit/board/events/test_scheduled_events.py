"""A schedule whose ticks publish events, by jobs that every worker runs."""

from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from callboard import Callboard, JobState
from callboard.board.jobs.functions.publishing import PUBLISH, publishing
from callboard.board.jobs.work.running_job import RunningJob
from tests.unit.board.events.test_events import numbers, run, take


def test_a_tick_publishes_its_event_once(tmp_path: Path) -> None:
    async def scenario(one: Callboard, other: Callboard) -> None:
        soon = datetime.now(UTC) + timedelta(seconds=0.2)
        async with one.events.listen("shop/*") as listener, one.jobs.worker({}, instance="web-1"):
            payload = {"topic": "shop/open", "properties": {"n": 1}}
            await other.jobs.schedule("opening", PUBLISH, payload, at=soon)
            [event] = await take(listener, 1)
            assert (event.properties, event.instance) == ({"n": 1}, "web-1")
        assert numbers(await other.events.find()) == [1]

    run(tmp_path, scenario)


def test_a_job_that_is_tried_again_publishes_its_event_once(tmp_path: Path) -> None:
    async def scenario(one: Callboard, other: Callboard) -> None:
        job = await one.jobs.add(PUBLISH)
        for board in (one, other):
            await publishing(board.context)({"topic": "a", "properties": {"n": 1}}, RunningJob(job.id, PUBLISH, 1, 1))
        assert numbers(await one.events.find()) == [1]

    run(tmp_path, scenario)


@pytest.mark.parametrize("payload", [None, [], {}, {"topic": "a//b"}, {"topic": "a", "properties": 1}, "a"])
def test_a_payload_that_is_no_event_ends_its_job(tmp_path: Path, payload: object) -> None:
    async def scenario(one: Callboard, _: Callboard) -> None:
        async with one.jobs.worker({}):
            job = await one.jobs.wait((await one.jobs.add(PUBLISH, payload)).id)
        assert job.state is JobState.ERROR
        assert "the payload is not that of an event" in job.message

    run(tmp_path, scenario)
