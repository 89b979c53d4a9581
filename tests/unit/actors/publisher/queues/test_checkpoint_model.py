"""Queues with a checkpoint are those without one, over logs that grow, are trimmed, replaced and put back."""

import asyncio
from collections.abc import Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from callboard.actors.core.decision import Done, Input, Perform, Stopping, Tick
from callboard.actors.publisher.effects import LoadCheckpoint, SaveCheckpoint
from callboard.actors.publisher.queues import checkpointing
from callboard.actors.worlds import checkpoint_file
from callboard.actors.worlds.checkpoint_file import CheckpointFile
from callboard.backends.log import Bounds
from callboard.errors import OffsetOutOfRange
from callboard.messages.distribution.queue_mail import QueueSize, SizesQuery
from callboard.messages.distribution.topic_messages import Kind
from callboard.messages.record import Record
from tests.unit.actors.publisher.queues.test_queue_cache_model import (
    PUBLISHERS,
    RECIPIENTS,
    ROLES,
    Stage,
    compare,
    play,
    steps,
)


class StageLog:
    """The stage's log, as far as a checkpoint looks at it."""

    def __init__(self, stage: Stage) -> None:
        self._stage = stage

    async def identity(self, topic: str) -> str:
        return self._stage.log_id

    async def bounds(self, topic: str) -> Bounds:
        return Bounds(self._stage.first, self._stage.end)

    async def read(self, topic: str, start: int, max_records: int) -> Sequence[Record]:
        stage = self._stage
        if not stage.first <= start <= stage.end:
            raise OffsetOutOfRange(topic, start, stage.first, stage.end)
        return [record for record in stage.records if record.offset >= start][:max_records]


class CheckpointedStage(Stage):
    """A stage whose queue cache has a checkpoint, of a few entries already."""

    def __init__(self, max_entries: int, path: Path) -> None:
        super().__init__(max_entries, topic="p")
        self.file = CheckpointFile(StageLog(self), path)  # type: ignore[arg-type]  # as far as it is used
        self.loaded = self.saved = 0

    def _perform(self, effect: Perform) -> Input:
        match effect:
            case LoadCheckpoint(topic, log_id):
                found = asyncio.run(self.file.load(topic, log_id))
                self.loaded += found is not None
                return Done(effect, found)
            case SaveCheckpoint(topic, index):
                self.saved += 1
                return Done(effect, asyncio.run(self.file.save(topic, index)))
        return super()._perform(effect)

    def put_back(self, count: int) -> None:
        """An older copy of the log takes its place; it assigns offsets again."""
        self.records = self.records[: max(len(self.records) - count, 0)]
        self.end = self.records[-1].offset + 1 if self.records else self.first
        self.packages = [package for package in self.packages if package.offset < self.end]
        self.copy += 1


@pytest.fixture(autouse=True)
def every_entry_is_worth_a_checkpoint(monkeypatch: pytest.MonkeyPatch) -> None:
    async def at_once(function: Any, *args: Any) -> Any:
        return function(*args)

    monkeypatch.setattr(checkpointing, "SAVE_MIN", 1)
    monkeypatch.setattr(checkpointing, "CHECKPOINT_OFFSETS", 0)
    monkeypatch.setattr(checkpoint_file.asyncio, "to_thread", at_once)  # a thread for each would take most of the time


def stop(stage: CheckpointedStage) -> None:
    """All actors stop, when somebody has asked for the whole queue."""
    stage.ask(SizesQuery(queues=(QueueSize(publisher="", after=-1),)))
    stage.settle()
    stage.post("shell", "queue_cache", Stopping())
    stage.settle()


def start(stage: CheckpointedStage) -> None:
    for role in ROLES:
        stage.restart(role)


lives = st.lists(
    st.tuples(
        steps.map(lambda some: some[:12]),
        st.sampled_from(("", "save", "put back", "put back", "replace", "trim")),
        st.integers(0, 12),
        st.lists(st.tuples(st.integers(0, 2), st.sampled_from(PUBLISHERS), st.sampled_from(RECIPIENTS)), max_size=20),
    ),
    max_size=5,
)
"""What happens while the actors run; then, to the log between two lives; and what others append then."""


def live(stage: CheckpointedStage, some: list[tuple[Any, ...]], then: str, count: int) -> None:
    for step in some:
        play(stage, step)
    if then == "save":
        stage.settle()
        stage.post("timer", "queue_cache", Tick("retention"))
    stop(stage)
    match then:
        case "put back":
            stage.put_back(count)
        case "replace":
            stage.replace()
        case "trim":
            stage.trim(3 * count)


def checkpointed(max_entries: int, history: int, folder: str) -> CheckpointedStage:
    stage = CheckpointedStage(max_entries, Path(folder) / "p.index")
    for number in range(history):
        stage.append(number % 2, PUBLISHERS[number % 2], Kind.ADD, number, RECIPIENTS[number % 7 % 4])
    start(stage)
    return stage


def compare_all(stage: Stage) -> None:
    stage.settle()
    stage.post("timer", "queue_cache", Tick("retention"))
    stage.settle()
    for after in (-1, 3, stage.end // 2, stage.end - 2):
        for publisher, subscriber in (("", ""), ("a", "x"), ("b", "z")):
            compare(stage, publisher, after, subscriber)


@pytest.mark.proves("F34", "W37")
@given(its=lives, history=st.integers(0, 90), max_entries=st.sampled_from([8, 32, 1000]))
@settings(max_examples=60, deadline=None)
def test_queues_with_a_checkpoint_equal_those_computed_from_a_list(
    its: list[tuple[list[tuple[Any, ...]], str, int, list[tuple[int, str, tuple[str, ...]]]]],
    history: int,
    max_entries: int,
) -> None:
    with TemporaryDirectory() as folder:
        stage = checkpointed(max_entries, history, folder)
        for some, then, count, appended in its:
            live(stage, some, then, count)
            for gap, publisher, recipients in appended:
                stage.append(gap, publisher, Kind.ADD, gap, recipients)
            start(stage)
            if count % 2:
                compare_all(stage)
        compare_all(stage)


def test_a_restarted_cache_reads_only_what_its_checkpoint_lacks(tmp_path: Path) -> None:
    stage = checkpointed(1000, 500, str(tmp_path))
    compare_all(stage)
    stop(stage)
    for _ in range(3):
        stage.append(0, "a", Kind.ADD, 7)
    start(stage)
    stage.reads.clear()
    asked = stage.ask(SizesQuery(queues=(QueueSize(publisher="", after=-1),)))
    stage.settle()
    assert stage.replies[asked].queues[0].size == 503
    assert (stage.saved, stage.loaded) == (1, 1)
    assert min(stage.reads) >= stage.end - 3, "the older ones are in the checkpoint"
    compare_all(stage)
