"""Payloads and topics that not every worker knows."""

from pathlib import Path

import pytest
from google.protobuf.timestamp_pb2 import Timestamp
from pydantic import BaseModel

from callboard import JobRegistry, JobState, RequestRefused
from callboard.board.jobs.board_jobs import BoardJobs
from tests.unit.board.jobs.test_jobs import run
from tests.unit.board.jobs.test_running import until


class Old(BaseModel):
    name: str


class New(BaseModel):
    first: str
    last: str


async def old(payload: Old) -> str:
    return payload.name


async def new(payload: New) -> str:
    return f"{payload.first} {payload.last}"


@pytest.mark.proves("J70")
def test_a_payload_that_a_worker_does_not_know_waits_for_one_that_does(tmp_path: Path) -> None:
    async def scenario(jobs: BoardJobs) -> None:
        await jobs.configure("greetings", ["greet"], delay_s=0.01, retry_exceptions=False)
        async with jobs.worker({"greet": old}, instance="old"):
            job = await jobs.add("greet", New(first="Ann", last="Lee"))
            found = await until(jobs, job.id, lambda found: found.attempts)
            assert (found.state.is_final, found.crashes) == (False, 0)
            async with jobs.worker({"greet": new, "part": new}, instance="new"):
                part = await jobs.add("part", New(first="Bob", last="Lee"))
                assert (await jobs.wait(part.id)).result == "Bob Lee", "only the new one runs that topic"
        async with jobs.worker({"greet": new}, instance="new"):
            found = await jobs.wait(job.id)
            assert (found.state, found.result) == (JobState.SUCCEEDED, "Ann Lee")

    run(tmp_path, scenario)


def test_a_payload_that_no_worker_knows_is_given_up(tmp_path: Path) -> None:
    async def scenario(jobs: BoardJobs) -> None:
        await jobs.configure("greetings", ["greet"], delay_s=0.001, retries=2)
        async with jobs.worker({"greet": old}):
            found = await jobs.wait((await jobs.add("greet", b"\xff")).id)
            assert (found.state, found.attempts) == (JobState.GIVEN_UP, 3)
            assert "ValidationError" in found.message

    run(tmp_path, scenario)


def test_a_protobuf_message_is_a_payload_and_a_result(tmp_path: Path) -> None:
    registry = JobRegistry()

    @registry.job("later")
    async def later(stamp: Timestamp) -> Timestamp:
        return Timestamp(seconds=stamp.seconds + 1)

    async def scenario(jobs: BoardJobs) -> None:
        with pytest.raises(RequestRefused, match="no Timestamp"):
            later.new(7)  # type: ignore[arg-type]
        async with jobs.worker(registry):
            [job] = await jobs.add_all([later.new(Timestamp(seconds=5))])
            found = await jobs.wait(job.id)
            assert isinstance(found.result, bytes)
            assert Timestamp.FromString(found.result).seconds == 6

    run(tmp_path, scenario)
