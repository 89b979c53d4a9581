"""What folds announce, and when: by a virtual clock."""

from dataclasses import replace
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
    Started,
    Stopped,
    Stopping,
    Tick,
)
from callboard.actors.core.effects import Append, EnsureTopic, FindBounds, LogRead, ReadLog, TopicBounds
from callboard.actors.entities.announcer import GAP_S, INTERVAL_S, Announced, FoldAnnouncer
from callboard.actors.entities.keeper import Keeper
from callboard.actors.entities.projections.projector import Projector
from callboard.actors.entities.projections.settings import ProjectorSettings
from callboard.actors.entities.settings import EntitySettings
from callboard.door.actors.projections import projection, reaction
from callboard.errors import LogUnavailable
from callboard.messages.entities.entity_mail import FoldState
from callboard.messages.entities.entity_messages import FoldAnnouncementMessage
from callboard.messages.headers import open_record
from callboard.messages.record import Record
from examples.bank.bank import Account, Balances, Transfer
from examples.stock.stock import FillUp


class Clock:
    """An announcer, and what it appends."""

    def __init__(self, topic: str = "board.discovery") -> None:
        self.announcer = FoldAnnouncer(Announced(topic, "entities", "bank.account", "web1"), Random(1))
        self.now_s = 100.0
        self.state, self.told = "reading", FoldState()
        self.timers: dict[str, float] = {}
        self.appended: list[Append] = []
        self.said: list[FoldAnnouncementMessage] = []
        self.lines: list[Note] = []

    def give(self, message: Input) -> None:
        for effect in self.announcer.handle(message, self.state, lambda: self.told, Moment(7, self.now_s)):
            match effect:
                case After(key, seconds):
                    self.timers[key] = self.now_s + seconds
                case Append():
                    self.appended.append(effect)
                    self.said += [opened(record.at(0, 7)) for record in effect.records]
                case Note():
                    self.lines.append(effect)

    def until(self, now_s: float) -> None:
        """Fire the timers that are due by then."""
        while self.timers and min(self.timers.values()) <= now_s:
            key = min(self.timers, key=lambda each: self.timers[each])
            self.now_s = self.timers.pop(key)
            self.give(Tick(key))
        self.now_s = now_s


def opened(record: Record) -> FoldAnnouncementMessage:
    return open_record(record, FoldAnnouncementMessage)


def test_a_change_is_announced_at_once_and_nothing_else_before_the_interval_is_over() -> None:
    clock = Clock()
    clock.give(Started())
    assert [each.state for each in clock.said] == ["reading"]
    clock.until(105)
    clock.state = "live"
    clock.give(Tick("other"))
    clock.told = FoldState(held=7)
    clock.give(Tick("other"))
    assert [each.state for each in clock.said] == ["reading", "live"]
    clock.until(105 + INTERVAL_S)
    assert [(each.state, each.held) for each in clock.said] == [("reading", 0), ("live", 0), ("live", 7)]


def test_changes_within_a_second_are_announced_together() -> None:
    clock = Clock()
    clock.give(Started())
    for state in ("live", "stopped", "live", "stopped"):
        clock.state = state
        clock.give(Tick("other"))
    assert len(clock.said) == 1
    clock.until(100 + GAP_S)
    assert [each.state for each in clock.said] == ["reading", "stopped"]
    clock.until(100 + GAP_S + 4 * INTERVAL_S)
    assert len(clock.said) == 6


def test_a_failed_announcement_is_tried_again_with_the_next_one() -> None:
    clock = Clock()
    clock.give(Started())
    clock.give(Failed(clock.appended[-1], LogUnavailable("no")))
    clock.until(100 + INTERVAL_S)
    clock.give(Failed(clock.appended[-1], LogUnavailable("no")))
    clock.until(100 + 2 * INTERVAL_S)
    clock.give(Done(clock.appended[-1], (0,)))
    assert len(clock.said) == 3
    assert [line.level for line in clock.lines] == ["warning", "debug"]


@pytest.mark.parametrize("outcome", ["appended", "failed", "silence"])
def test_the_last_announcement_says_that_it_has_ended(outcome: str) -> None:
    clock = Clock()
    clock.give(Started())
    clock.give(Stopping())
    assert [each.ended for each in clock.said] == [False, True]
    clock.give(Done(clock.appended[0], (0,)))
    assert not clock.announcer.has_left
    if outcome == "silence":
        clock.until(110)
    else:
        last = clock.appended[1]
        clock.give(Done(last, (1,)) if outcome == "appended" else Failed(last, LogUnavailable("no")))
    assert clock.announcer.has_left
    clock.until(200)
    assert len(clock.said) == 2


def test_without_a_topic_nothing_is_announced_and_no_random_number_is_used() -> None:
    random = Random(1)
    announcer = FoldAnnouncer(Announced("", "entities", "bank.account", "web1"), random)
    assert not list(announcer.handle(Started(), "live", FoldState, Moment(7, 1.0)))
    assert not list(announcer.handle(Stopping(), "live", FoldState, Moment(7, 1.0)))
    assert announcer.has_left
    assert random.random() == Random(1).random()


def test_long_and_odd_texts_are_cut() -> None:
    clock = Clock()
    clock.told = FoldState(problem="x" * 9000 + "\ud800", troubles=("\ud800\n" * 900,) * 90)
    clock.give(Started())
    said = clock.said[0]
    assert len(said.problem) <= 2000
    assert len(said.troubles) == 20
    assert all(len(each) <= 500 for each in said.troubles)


def test_each_start_is_another_incarnation() -> None:
    settings = EntitySettings(Account, "t", "web1", announce="d")
    first, second = (opened_by(settings, seed)[0].incarnation for seed in (1, 2))
    assert "" != first != second != ""


def opened_by(settings: EntitySettings | ProjectorSettings, seed: int = 1) -> list[FoldAnnouncementMessage]:
    actor = (
        Keeper(settings, Random(seed)) if isinstance(settings, EntitySettings) else Projector(settings, Random(seed))
    )
    effects = [*actor.receive(Started(), Origin(""), Moment(7, 1.0))]
    return announced(effects)


def announced(effects: list[Effect]) -> list[FoldAnnouncementMessage]:
    return [opened(each.records[0].at(0, 7)) for each in effects if isinstance(each, Append) and each.topic == "d"]


def test_every_kind_of_fold_says_what_it_is() -> None:
    settings = [
        EntitySettings(Account, "t", "web1", announce="d"),
        EntitySettings(Transfer, "t", "web1", announce="d", runs=True),
        replace(projection(Balances, "board"), announce="d", instance="web1"),
        replace(reaction(FillUp, "board"), announce="d", instance="web1"),
    ]
    said = [opened_by(each)[0] for each in settings]
    assert [(each.kind, each.name, each.instance, each.state) for each in said] == [
        ("entities", "bank.account", "web1", "reading"),
        ("process", "bank.transfer", "web1", "reading"),
        ("projection", "bank.balance", "web1", "building"),
        ("reaction", "fill up", "web1", "reading"),
    ]


def test_a_keeper_is_live_once_it_has_read_its_topic_and_leaves_in_order() -> None:
    keeper = Keeper(EntitySettings(Account, "t", "web1", announce="d"), Random(1))

    def give(message: Input, now_s: float) -> list[Effect]:
        return [*keeper.receive(message, Origin(""), Moment(7, now_s))]

    give(Started(), 1.0)
    [find] = [each for each in give(Done(EnsureTopic("t"), None), 2.0) if isinstance(each, FindBounds)]
    effects = give(Done(find, TopicBounds("log", 0, 1)), 3.0)
    [read] = [each for each in effects if isinstance(each, ReadLog)]
    [said] = announced(give(Done(read, LogRead("log", (), 1)), 4.0))
    assert (said.state, said.places[0].log_id, said.places[0].next) == ("live", "log", 1)
    last = give(Stopping(), 5.0)
    assert announced(last)[0].ended
    assert Stopped() not in last
    [goodbye] = [each for each in last if isinstance(each, Append)]
    assert Stopped() in give(Done(goodbye, (3,)), 6.0)
