"""Forged marks on the log of how far events were written: no event is left out, and none is written twice."""

import pytest

from callboard.actors.publisher.events.event_marks import WINDOW
from callboard.messages.distribution.package_event import EventMarks, Mark, event_record
from tests.unit.actors.publisher.conftest import ALL, TOPICS, NotifierStage

HUGE = 1 << 62
PACKAGES = 20


def forge(stage: NotifierStage, offset: int, log_id: str = "L1", kinds: tuple[str, ...] = ALL) -> None:
    marks = tuple(Mark(kind=kind, log_id=log_id, offset=offset) for kind in kinds)
    stage.put(TOPICS.event, event_record(EventMarks(publisher="site", marks=marks), 1, "somebody"))


def publish(stage: NotifierStage, first: int, count: int = PACKAGES // 4) -> None:
    for number in range(first, first + count):
        stage.publish(f"p{number}")
        stage.tell(number, f"p{number}", "edge", number + 1)


def told_in_parts(parts: int) -> NotifierStage:
    """A stage with an event for every package, written in this many appends."""
    stage = NotifierStage(keys=False)
    stage.announce("edge", HUGE)
    for part in range(parts):
        publish(stage, part * PACKAGES // 4)
        stage.run()
    return stage


def check(stage: NotifierStage, count: int) -> None:
    for kind in ("created", "queued", "distributed", "imported"):
        assert stage.told(kind) == list(range(count)), kind


FORGERIES = {"beyond the end": HUGE, "at the end": PACKAGES + 5, "the first": 0, "negative": -HUGE}


@pytest.mark.parametrize("offset", FORGERIES.values(), ids=FORGERIES)
@pytest.mark.parametrize("log_id", ["L1", "another"])
def test_a_forged_mark_neither_silences_nor_repeats_events_of_a_successor(offset: int, log_id: str) -> None:
    stage = told_in_parts(4)
    stage.kill()
    publish(stage, PACKAGES)
    forge(stage, offset, log_id)
    stage.run()
    check(stage, PACKAGES + 5)


@pytest.mark.parametrize("offset", [*FORGERIES.values(), 3, 5, 8, 12])
@pytest.mark.parametrize("parts", [0, 1, 2, 3])
def test_a_forged_mark_among_few_genuine_ones_neither_silences_nor_repeats_events(offset: int, parts: int) -> None:
    stage = told_in_parts(parts)
    stage.kill()
    publish(stage, parts * 5)
    forge(stage, offset)
    stage.run()
    check(stage, parts * 5 + 5)


@pytest.mark.parametrize("offset", FORGERIES.values(), ids=FORGERIES)
def test_a_forged_mark_is_not_believed_when_the_genuine_ones_are_far_back_in_the_topic(offset: int) -> None:
    stage = told_in_parts(4)
    stage.kill()
    publish(stage, PACKAGES)
    others = EventMarks(publisher="shop", marks=(Mark(kind="created", log_id="L1", offset=7),))
    for _ in range(WINDOW):
        stage.put(TOPICS.event, event_record(others, 1, "shop/i"))
    forge(stage, offset)
    stage.run()
    check(stage, PACKAGES + 5)


@pytest.mark.parametrize("offset", FORGERIES.values(), ids=FORGERIES)
def test_a_forged_mark_does_not_silence_a_running_notifier(offset: int) -> None:
    stage = told_in_parts(4)
    stage.announce("edge", PACKAGES - 1)
    publish(stage, PACKAGES)
    stage.run()
    forge(stage, offset)
    stage.run()
    stage.announce("edge", HUGE)
    stage.run()
    check(stage, PACKAGES + 5)


def test_an_impossible_mark_is_logged_as_ignored() -> None:
    stage = told_in_parts(4)
    forge(stage, HUGE)
    stage.kill()
    stage.run()
    assert "event.mark_ignored" in stage.it.notes()
