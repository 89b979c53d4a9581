"""A subscriber stays in the fleet while the log has its last announcement, however old that is."""

from collections.abc import Iterable
from random import Random

import pytest

from callboard.actors.core.decision import Done, Effect, Failed, Origin, Tick
from callboard.actors.core.effects import FindBounds, LogRead, ReadLog, TopicBounds
from callboard.actors.publisher.fleet.fleet import Fleet, FleetSettings
from callboard.errors import LogUnavailable, OffsetOutOfRange
from callboard.messages.distribution.fleet_mail import FleetQuery, FleetView, Liveness
from callboard.messages.distribution.topic_messages import (
    DiscoveryMessage,
    ForgottenMessage,
    State,
    SubscriberConfiguration,
)
from callboard.messages.event import Event
from callboard.messages.headers import new_record
from callboard.messages.record import Record
from callboard.messages.repeated import repeated
from callboard.testing.drivers.decision_driver import DecisionDriver

HOUR_NS = 3600 * 10**9


def word(name: str, instance: str = "i1", state: State = State.IDLE) -> DiscoveryMessage:
    configuration = SubscriberConfiguration(editable=False, max_retries=-1)
    return DiscoveryMessage(subscriber_instance=instance, subscriber=name, configuration=configuration, state=state)


class Board:
    """A fleet over a discovery topic with this history; the last record was written an hour before now."""

    def __init__(self, *history: Event, newest: int = 2, first: int = 0, max_members: int = 100) -> None:
        settings = FleetSettings("d", history=newest, max_members=max_members)
        self.driver = DecisionDriver(Fleet(settings, Random(1)))
        self.first = first
        self.records: list[Record] = []
        self.write(history)

    def write(self, events: Iterable[Event]) -> None:
        for event in events:
            name = event.subscriber if isinstance(event, DiscoveryMessage) else "operator"
            instance = event.subscriber_instance if isinstance(event, DiscoveryMessage) else ""
            new = new_record(event, record_id="r", time_ns=0, producer=f"{name}/{instance}")
            self.records.append(new.at(len(self.records), self.driver.now.wall_ns - HOUR_NS))

    def result(self, effect: Effect) -> TopicBounds | LogRead:
        if isinstance(effect, FindBounds):
            return TopicBounds("L1", self.first, len(self.records))
        assert isinstance(effect, ReadLog)
        found = tuple(self.records[effect.start : effect.start + min(effect.max_records, 3)])
        return LogRead("L1", found, effect.start + len(found))

    def serve(self, *, lookback: bool = True) -> None:
        """Carry out its requests until it only waits at the end of the topic."""
        while effects := [effect for effect in self.driver.open if self._ready(effect, lookback)]:
            effect = effects[0]
            assert isinstance(effect, ReadLog | FindBounds)
            self.driver.open.remove(effect)
            self.driver.feed(self._done(effect))

    def view(self) -> FleetView:
        self.driver.feed(FleetQuery(), Origin("gateway", 1))
        self.serve()
        return self.answer()

    def answer(self) -> FleetView:
        _, event = self.driver.replies()[-1]
        assert isinstance(event, FleetView)
        return event

    def _ready(self, effect: Effect, lookback: bool) -> bool:
        if not isinstance(effect, ReadLog):
            return True
        return effect.start < len(self.records) and (lookback or effect.start >= len(self.records) - 2)

    def _done(self, effect: ReadLog | FindBounds) -> Done:
        return Done(effect, self.result(effect))


def names(view: FleetView) -> list[str]:
    return [member.announcement.subscriber for member in view.members]


@pytest.mark.proves("F60", "F63", "W26")
def test_a_subscriber_that_has_been_silent_for_long_is_still_known() -> None:
    board = Board(word("old"), *[word("busy")] * 10)
    view = board.view()
    assert names(view) == ["busy", "old"]
    assert view.unread == 0


@pytest.mark.proves("W26")
def test_the_newest_announcement_of_each_subscriber_counts_whichever_is_read_first() -> None:
    board = Board(word("edge"), word("edge", state=State.BLOCKED), word("edge", state=State.GAP), *[word("busy")] * 3)
    assert [m.announcement.state for m in board.view().members if m.announcement.subscriber == "edge"] == [State.GAP]


def test_an_answer_without_the_old_part_comes_after_a_while_and_says_so() -> None:
    board = Board(word("old"), *[word("busy")] * 10)
    board.driver.feed(FleetQuery(), Origin("gateway", 1))
    board.serve(lookback=False)
    assert board.driver.replies() == []
    board.driver.tick("patience")
    assert names(board.answer()) == ["busy"]
    assert board.answer().unread == 9
    board.serve()
    assert names(board.view()) == ["busy", "old"]


def test_a_failed_read_of_the_old_part_is_retried_and_a_trimmed_part_left_out() -> None:
    board = Board(word("gone"), word("old"), *[word("busy")] * 3)
    board.serve(lookback=False)
    (read,) = [effect for effect in board.driver.open if isinstance(effect, ReadLog) and effect.start == 0]
    board.driver.open.remove(read)
    board.driver.feed(Failed(read, LogUnavailable("away")))
    board.driver.tick("lookback")
    again = next(effect for effect in board.driver.open if effect == read)
    board.driver.open.remove(again)
    board.first = 1
    board.driver.feed(Failed(again, OffsetOutOfRange("d", 0, 1, 5)))
    assert names(board.view()) == ["busy", "old"]


@pytest.mark.proves("W38")
def test_older_announcements_do_not_bring_back_a_forgotten_subscriber() -> None:
    forgotten = [ForgottenMessage(subscriber="old"), ForgottenMessage(subscriber="older")]
    assert names(Board(word("old"), word("older"), *forgotten, *[word("busy")] * 3).view()) == ["busy"]
    assert names(Board(word("old"), word("older"), *[word("busy")] * 3, *forgotten).view()) == ["busy"]


@pytest.mark.proves("W38")
def test_the_next_announcement_of_a_forgotten_subscriber_undoes_it() -> None:
    board = Board(word("old"), ForgottenMessage(subscriber="old"))
    assert names(board.view()) == []
    board.write([word("old")])
    read = next(effect for effect in board.driver.open if isinstance(effect, ReadLog))
    board.driver.open.remove(read)
    board.driver.feed(board._done(read))
    assert names(board.view()) == ["old"]


def test_an_instance_that_was_refused_the_name_does_not_hide_its_holder() -> None:
    refused = word("edge", "i2", State.STOPPED)
    board = Board(word("edge", "i1"), word("edge", "i2", State.STARTING), refused, *[word("busy")] * 3)
    (edge,) = [m for m in board.view().members if m.announcement.subscriber == "edge"]
    assert edge.announcement.subscriber_instance == "i1"
    assert edge.liveness is Liveness.SILENT


@pytest.mark.proves("W38")
def test_beyond_the_bound_the_longest_silent_subscribers_are_dropped_and_counted() -> None:
    board = Board(*(word(f"edge-{n}") for n in range(6)), max_members=4)
    view = board.view()
    assert names(view) == ["edge-2", "edge-3", "edge-4", "edge-5"]
    assert view.dropped == 2


def test_a_timeout_without_a_waiting_question_answers_nothing() -> None:
    board = Board(word("edge"))
    board.serve()
    assert board.driver.feed(Tick("patience")) == []


def repeat(board: Board, number: int, read_to: int) -> None:
    """Repeat the record with this number on the topic, now."""
    again = repeated(board.records[number], read_to)
    board.records.append(again.at(len(board.records), board.driver.now.wall_ns))


@pytest.mark.proves("W38")
@pytest.mark.parametrize("newest", [2, 100])
def test_a_repeated_announcement_makes_no_subscriber_live(newest: int) -> None:
    board = Board(word("old"), *[word("busy")] * 5, newest=newest)
    said_ns = board.records[0].time_ns
    repeat(board, 0, 6)
    board.first = 1
    for view in (board.view(), board.view()):
        (old,) = (member for member in view.members if member.announcement.subscriber == "old")
        assert (old.liveness, old.seen_ns) == (Liveness.SILENT, said_ns)


def test_a_repeated_announcement_does_not_replace_a_newer_one() -> None:
    board = Board(word("old"), *[word("busy")] * 5, newest=100)
    assert names(board.view()) == ["busy", "old"]
    board.write([word("old", state=State.PAUSED)])
    repeat(board, 0, 6)
    board.serve()
    for newest in (2, 100):
        again = Board(newest=newest)
        again.records, again.first = board.records, 1
        states = {member.announcement.subscriber: member.announcement.state for member in again.view().members}
        assert states["old"] is State.PAUSED


@pytest.mark.parametrize("newest", [1, 100])
def test_a_subscriber_forgotten_while_its_announcement_is_repeated_stays_forgotten(newest: int) -> None:
    board = Board(word("old"), *[word("busy")] * 5, ForgottenMessage(subscriber="old"), newest=newest)
    repeat(board, 0, 6)
    assert names(board.view()) == ["busy"]
