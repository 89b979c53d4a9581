"""Records on the job topic that no callboard writes: they hold up nothing, and change nothing but what they may."""

from collections.abc import Callable
from pathlib import Path

import pytest
from pydantic import BaseModel

from callboard import BoardJobs, JobState
from callboard.messages.event import Event
from callboard.messages.headers import new_record
from callboard.messages.jobs.job_messages import (
    JobCommandMessage,
    JobContext,
    JobEnd,
    JobOptions,
    JobQueue,
    JobsAddedMessage,
    JobsEndedMessage,
    JobsLeasedMessage,
    JobsSnapshotMessage,
    ScheduleCommandMessage,
    ScheduleMessage,
    WorkerGoneMessage,
    WorkerMessage,
)
from callboard.messages.jobs.progress_messages import JobProgress, JobsProgressedMessage
from callboard.messages.record import NewRecord
from callboard.messages.topics import job_topic
from tests.unit.board.jobs.test_jobs import run

HUGE, LEAST = 2**63 - 1, -(2**63)


def added(**given: object) -> JobsAddedMessage:
    usual = {"request": "r", "creator": "c", "topics": ("a",), "topic_of": (0,), "payloads": (b"{}",)}
    return JobsAddedMessage(**{**usual, **given})  # type: ignore[arg-type]


HOSTILE: list[Event] = [
    added(payloads=()),
    added(topics=()),
    added(topic_of=(0, 0)),
    added(topic_of=(HUGE,)),
    added(topic_of=(-1,)),
    added(topics=("a" * 100_000,)),
    added(topics=("../../etc", "a")),
    added(payloads=(b"x",) * 2000, topic_of=(0,) * 2000),
    added(options=(JobOptions(job=1),)),
    added(options=(JobOptions(job=-1),)),
    added(options=(JobOptions(job=0), JobOptions(job=0))),
    *(
        added(options=(JobOptions(job=0, **{name: value}),))  # type: ignore[arg-type]
        for name in ("due_ms", "priority", "unique_ms", "retries", "timeout_ms")
        for value in (HUGE, LEAST)
    ),
    added(options=(JobOptions(job=0, after=(HUGE, LEAST), after_counts=(HUGE, HUGE)),)),
    added(options=(JobOptions(job=0, after=(-1024,), after_counts=(1,)),)),
    added(options=(JobOptions(job=0, after=(1, 2), after_counts=(1,)),)),
    added(options=(JobOptions(job=0, lane="\n" * 1000, unique="x" * 100_000, title="\x1b[2J"),)),
    added(schedule="none", tick_ms=HUGE),
    added(void_from=LEAST),
    added(topics=("good",), contexts=(JobContext(),)),
    added(topics=("good",), context_of=(0,)),
    added(topics=("good",), contexts=(JobContext(),), context_of=(HUGE,)),
    added(topics=("good",), contexts=(JobContext(),), context_of=(-1,)),
    added(topics=("good",), contexts=(JobContext(names=("a",)),), context_of=(0,)),
    added(topics=("good",), contexts=(JobContext(names=("a",), values=("x" * 1000,)),), context_of=(0,)),
    added(topics=("good",), contexts=(JobContext(names=("a",) * 1000, values=("x",) * 1000),), context_of=(0,)),
    JobsLeasedMessage(cluster_log="log", epoch=HUGE, dispatcher="me", workers=("w",), worker_of=(0,), jobs=(0,)),
    JobsLeasedMessage(cluster_log="log", epoch=0, dispatcher="me", workers=(), worker_of=(0,), jobs=(0,)),
    JobsLeasedMessage(cluster_log="log", epoch=0, dispatcher="me", workers=("w",), worker_of=(0, 1), jobs=(-1,)),
    JobsLeasedMessage(cluster_log="", epoch=-1, dispatcher=""),
    JobsEndedMessage(worker="w", jobs=(0,), leases=(), outcomes=(0,), run_ms=(0,)),
    JobsEndedMessage(worker="w", jobs=(HUGE,), leases=(HUGE,), outcomes=(99,), run_ms=(LEAST,)),
    JobsEndedMessage(worker="w", jobs=(LEAST,), leases=(0,), outcomes=(0,), run_ms=(0,), ends=(JobEnd(job=7),)),
    JobsEndedMessage(worker="w", jobs=(), leases=(), outcomes=(), run_ms=()),
    WorkerMessage(instance="", incarnation="", slots=HUGE, topics=("**",)),
    WorkerMessage(instance="i", incarnation="ghost", slots=LEAST, topics=("***", "/", "")),
    WorkerMessage(instance="i", incarnation="ghost", slots=1, topics=("**",) * 5000),
    WorkerGoneMessage(incarnation="ghost", cluster_log="log", epoch=LEAST),
    JobCommandMessage(author="a", stop=(LEAST, HUGE), drop=(HUGE,), forget=(-1,)),
    JobCommandMessage(author="a", suspend="\n", resume="x" * 10_000, remove=""),
    JobCommandMessage(author="a", configure=JobQueue(name="q", topics=("**",), parallel=LEAST, crashes=HUGE)),
    JobCommandMessage(author="a", configure=JobQueue(name="", topics=())),
    JobsProgressedMessage(worker="w", progress=(JobProgress(job=LEAST, steps=HUGE, step=LEAST, lines=("x",) * 500),)),
    JobsSnapshotMessage(log_id="", as_of=HUGE, writer="w", part=LEAST, content=b"\xff" * 100, parts=HUGE),
    JobsSnapshotMessage(log_id="l", as_of=0, writer="w", part=0, content=b"", parts=1, digest=b""),
    ScheduleMessage(name="s", author="a", topic="a", payload=b"", cron=("* * * * *",) * 1000),
    ScheduleMessage(name="s", author="a", topic="a", payload=b"", every_ms=1),
    ScheduleMessage(name="s", author="a", topic="a", payload=b"", at_ms=HUGE),
    ScheduleMessage(name="s", author="a", topic="a", payload=b"", cron=("no", "@reboot"), zone="../../etc/passwd"),
    ScheduleMessage(name="t", author="a", topic="a", payload=b"", cron=("0 0 31 2 *",), zone="Nowhere/At_All"),
    ScheduleCommandMessage(author="a", suspend="\n", resume="none", remove="x" * 10_000),
]


class Sized(BaseModel):
    n: int


async def works(jobs: BoardJobs) -> None:
    """Jobs are added, run and told about; one whose payload does not fit is given up alone."""
    good, bad = await jobs.add("good", {"n": 1}), await jobs.add("good", {"n": "many"}, retries=0)
    assert (await jobs.wait(good.id)).result == 1
    assert (await jobs.wait(bad.id)).state is JobState.GIVEN_UP
    await jobs.queues()
    await jobs.find(tuple(JobState))
    await jobs.schedules()


def survives(folder: Path, records: Callable[[], list[NewRecord]]) -> None:
    async def good(payload: Sized) -> int:
        return payload.n

    async def scenario(jobs: BoardJobs) -> None:
        log = jobs._board.log
        await log.ensure(job_topic())
        await log.append(job_topic(), records())
        async with jobs.worker({"good": good}):
            await works(jobs)
            await log.append(job_topic(), records())
            await works(jobs)

    run(folder, scenario)


def written(message: Event, number: int) -> NewRecord:
    return new_record(message, record_id=f"{number}", time_ns=1, producer="attacker", key="")


@pytest.mark.proves("J70")
@pytest.mark.parametrize("number", range(len(HOSTILE)))
def test_a_message_that_is_out_of_bounds_holds_up_nothing(tmp_path: Path, number: int) -> None:
    survives(tmp_path, lambda: [written(HOSTILE[number], number)])


@pytest.mark.proves("J70")
def test_bytes_that_are_no_message_hold_up_nothing(tmp_path: Path) -> None:
    whole = written(added(), 0)
    headers = [whole.headers, (), *((each,) for each in whole.headers)]
    payloads = [whole.payload[:cut] for cut in range(0, len(whole.payload), 3)] + [b"", b"\xff" * 1000]
    survives(tmp_path, lambda: [NewRecord(payload=payload, headers=each) for payload in payloads for each in headers])
