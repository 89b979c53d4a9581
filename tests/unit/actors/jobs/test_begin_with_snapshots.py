"""Where readers of the job topic begin: the board's, and the dispatcher's."""

import asyncio
import time
from collections.abc import Awaitable, Callable
from dataclasses import replace
from itertools import count
from pathlib import Path
from random import Random

import pytest

from callboard.actors.core.decision import (
    After,
    Done,
    Effect,
    Failed,
    Input,
    Moment,
    Note,
    Origin,
    Perform,
    Reply,
    Started,
    Tick,
)
from callboard.actors.core.effects import ReadLog
from callboard.actors.core.follower import Delivered
from callboard.actors.jobs.jobs import At, Jobs
from callboard.actors.jobs.rules.reducer import apply
from callboard.actors.jobs.snapshots import search, taking
from callboard.actors.jobs.snapshots.taking import parts
from callboard.actors.jobs.worker.dispatcher import Dispatcher
from callboard.actors.jobs.worker.following import Begun, Gap, JobFollower
from callboard.actors.jobs.worker.settings import WorkerSettings
from callboard.actors.worlds.world import AgentWorld
from callboard.backends.log import Log, Retention
from callboard.backends.logs.memory import MemoryLog
from callboard.board.jobs.reading import JobReading
from callboard.errors import CallboardError, OffsetOutOfRange
from callboard.messages.event import Event, replaced
from callboard.messages.headers import new_record
from callboard.messages.jobs.job_mail import WatchWork, Work
from callboard.messages.jobs.job_messages import JOB_MESSAGES, JobsAddedMessage, JobsSnapshotMessage
from callboard.messages.jobs.limits import check_message
from callboard.messages.reading import Unread, read
from callboard.messages.record import Record
from callboard.testing.fakes.memory_blob_store import MemoryBlobStore

TOPIC = "jobs"


@pytest.fixture(autouse=True)
def _small(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(search, "RANGE", 4)
    monkeypatch.setattr(taking, "PART_BYTES", 50)


class Topic:
    """A topic of jobs in memory, and what its records make."""

    def __init__(self) -> None:
        numbers = count()
        self.log, self.jobs, self.numbers = MemoryLog(time.time_ns, numbers.__next__), Jobs(), count()

    async def begin(self) -> "Topic":
        await self.log.ensure(TOPIC)
        return self

    async def say(self, *messages: Event) -> None:
        for message in messages:
            record = new_record(message, record_id=f"{next(self.numbers)}", time_ns=0, producer="test")
            [offset] = await self.log.append(TOPIC, [record])
            [found] = await self.log.read(TOPIC, offset, 1)
            apply(self.jobs, At(offset, found.time_ns // 1_000_000), message)

    async def add(self, many: int) -> None:
        for _ in range(many):
            await self.say(JobsAddedMessage(
                request=f"{next(self.numbers)}", creator="c", topics=("a",), topic_of=(0,), payloads=(b"1",)
            ))  # fmt: skip

    async def snapshot(self) -> list[JobsSnapshotMessage]:
        log_id, (_, end) = await self.log.identity(TOPIC), await self.log.bounds(TOPIC)
        return list(parts(self.jobs, log_id, end - 1, f"writer-{next(self.numbers)}"))

    async def trim(self, below: int) -> None:
        await self.log.trim(TOPIC, Retention(below_offset=below))


class Following:
    """The jobs as a dispatcher has them."""

    def __init__(self, log: Log, _: str) -> None:
        self.world = AgentWorld(log, MemoryBlobStore(time.time_ns), Path())
        self.follower = JobFollower(TOPIC, Random(1))
        self.jobs, self.effects, self.notes, self.applied = Jobs(), list[Effect](), list[str](), 0
        self.gap = ""

    async def catch_up(self) -> None:
        """Go on until the end was read three times: then every failure was followed by another attempt."""
        self.effects = self.effects or [*self.follower.start()]
        at_end, applied = 0, -1
        while at_end < 3 and not self.gap:
            at_end = at_end + 1 if self.follower.caught_up and applied == self.applied else 0
            applied = self.applied
            effects, self.effects = self.effects, []
            for effect in effects:
                await self.carry_out(effect)
        if self.gap:
            raise OffsetOutOfRange(TOPIC, 1, 2, 3)

    async def carry_out(self, effect: Effect) -> None:
        match effect:
            case Note(event):
                self.notes.append(event)
            case After(key):
                self.feed(Tick(key))
        if not isinstance(effect, Perform):
            return
        done: Done | Failed
        asked = replace(effect, wait_s=0.0) if isinstance(effect, ReadLog) else effect
        try:
            done = Done(effect, await self.world.perform(asked))
        except CallboardError as error:
            done = Failed(effect, error)
        self.feed(done)

    def feed(self, message: Done | Failed | Tick) -> None:
        news, effects = self.follower.handle(message)
        self.effects += effects
        match news:
            case Begun(snapshot):
                self.jobs = snapshot.jobs
            case Delivered(records=records):
                for record in records:
                    self.see(record)
            case Gap(detail):
                self.gap = detail

    def see(self, record: Record) -> None:
        message = read(record, JOB_MESSAGES, check_message)
        assert not isinstance(message, Unread)
        apply(self.jobs, At(record.offset, record.time_ns // 1_000_000), message)
        self.applied += 1


Reader = type[JobReading] | type[Following]
Test = Callable[[Topic, Reader], Awaitable[None]]


@pytest.fixture(params=[JobReading, Following])
def play(request: pytest.FixtureRequest) -> Callable[[Test], None]:
    async def played(test: Test) -> None:
        await test(await Topic().begin(), request.param)

    return lambda test: asyncio.run(played(test))


async def jobs_of(topic: Topic, reader: Reader) -> Jobs:
    reading = reader(topic.log, TOPIC)
    await reading.catch_up()
    return reading.jobs


def test_a_newcomer_begins_with_a_snapshot_and_goes_on_behind_it(play: Callable[[Test], None]) -> None:
    async def test(topic: Topic, reader: Reader) -> None:
        await topic.add(20)
        first, *others = await topic.snapshot()
        await topic.say(first)
        await topic.add(3)
        await topic.say(*others)
        await topic.add(30)
        known = list(topic.jobs.table.ids)
        assert list((await jobs_of(topic, reader)).table.ids) == known
        await topic.trim(15)
        assert list((await jobs_of(topic, reader)).table.ids) == known

    play(test)


@pytest.mark.parametrize("where", [0, 1, -1])
@pytest.mark.parametrize("damage", [{"content": b"x"}, {"log_id": "another"}, {"as_of": 1 << 40}, {"part": 99}])
def test_a_damaged_snapshot_is_skipped_for_an_older_one(
    play: Callable[[Test], None], where: int, damage: dict[str, object]
) -> None:
    if damage.get("part") and where == -1:
        damage = damage | {"parts": 100}

    async def test(topic: Topic, reader: Reader) -> None:
        await topic.add(20)
        await topic.say(*await topic.snapshot())
        await topic.add(20)
        wrong = await topic.snapshot()
        wrong[where] = replaced(wrong[where], **damage)
        await topic.say(*wrong)
        await topic.trim(18)
        assert list((await jobs_of(topic, reader)).table.ids) == list(topic.jobs.table.ids)

    play(test)


def test_why_a_snapshot_is_not_believed_is_logged(caplog: pytest.LogCaptureFixture) -> None:
    async def test() -> None:
        topic = await Topic().begin()
        await topic.add(20)
        await topic.say(*[replaced(each, log_id="another") for each in await topic.snapshot()])
        await topic.add(1)
        assert list((await jobs_of(topic, JobReading)).table.ids) == list(topic.jobs.table.ids)
        follower = Following(topic.log, TOPIC)
        await follower.catch_up()
        assert "snapshot.skipped" in follower.notes

    asyncio.run(test())
    assert "it is of the topic another" in caplog.text


@pytest.mark.proves("J75")
def test_a_reader_that_was_cut_off_goes_on_from_a_snapshot(play: Callable[[Test], None]) -> None:
    async def test(topic: Topic, reader: Reader) -> None:
        await topic.add(5)
        reading = reader(topic.log, TOPIC)
        await reading.catch_up()
        await topic.add(30)
        await topic.say(*await topic.snapshot())
        await topic.add(3)
        await topic.trim(30)
        await reading.catch_up()
        assert list(reading.jobs.table.ids) == list(topic.jobs.table.ids)

    play(test)


def test_a_topic_that_was_trimmed_without_a_snapshot_is_not_guessed(play: Callable[[Test], None]) -> None:
    async def test(topic: Topic, reader: Reader) -> None:
        await topic.add(20)
        await topic.say(*(await topic.snapshot())[:-1])
        await topic.trim(10)
        with pytest.raises(OffsetOutOfRange):
            await jobs_of(topic, reader)

    play(test)


def test_a_worker_that_has_met_a_gap_looks_for_a_snapshot_again() -> None:
    async def test() -> None:
        topic = await Topic().begin()
        world = AgentWorld(topic.log, MemoryBlobStore(time.time_ns), Path())
        dispatcher = Dispatcher(WorkerSettings(topic=TOPIC, instance="w"), Random(1))

        async def said(*inputs: Input) -> list[Effect]:
            found, left = list[Effect](), [*inputs]
            while left:
                effects = list(dispatcher.receive(left.pop(0), Origin("service", 1), Moment(0, 0.0)))
                found += effects
                io = [each for each in effects if isinstance(each, Perform)]
                left += [Done(each, await world.perform(each)) for each in io if not getattr(each, "wait_s", 0)]
            return found

        async def problem() -> str:
            replies = await said(WatchWork(worker="w"), Tick("watch"))
            [work] = [each.event for each in replies if isinstance(each, Reply) and isinstance(each.event, Work)]
            return work.problem or ("" if work.stranger else "it does not know")

        await topic.add(20)
        await topic.trim(10)
        timers = [each.key for each in await said(Started()) if isinstance(each, After)]
        assert await problem() == "gap"
        await said(*map(Tick, timers))
        assert await problem() == "gap"
        await topic.say(*await topic.snapshot())
        await said(*map(Tick, timers))
        assert await problem() == ""

    asyncio.run(test())


def test_what_is_behind_the_end_of_an_older_copy_is_forgotten(play: Callable[[Test], None]) -> None:
    async def test(topic: Topic, reader: Reader) -> None:
        await topic.add(10)
        await topic.say(*await topic.snapshot())
        older = list(topic.log._topics[TOPIC].records)
        jobs = list(topic.jobs.table.ids)
        await topic.add(10)
        reading = reader(topic.log, TOPIC)
        await reading.catch_up()
        held = topic.log._topics[TOPIC]
        held.records[:] = older
        held.end = older[-1].offset + 1
        await reading.catch_up()
        assert list(reading.jobs.table.ids) == jobs

    play(test)
