"""What the view keeper tells, whom, and when."""

from dataclasses import replace
from random import Random
from typing import Any

import pytest

from callboard.actors.core.agent import GATEWAY
from callboard.actors.core.decision import After, Origin, PeerUp, Send, Stopping
from callboard.actors.core.effects import EnsureTopic, FindBounds, LogRead, ReadLog, TopicBounds, TrimTopic
from callboard.actors.topology.member.roles import PROPOSER, RENEWER
from callboard.actors.topology.member.settings import MemberSettings
from callboard.actors.topology.member.view_keeper import WATCHERS_MAX, ViewKeeper
from callboard.errors import LogReplaced, LogUnavailable
from callboard.messages.headers import new_record
from callboard.messages.topology.cluster_state import ClusterSettings, Health
from callboard.messages.topology.control_messages import SnapshotMessage
from callboard.messages.topology.member_event import MemberEvent
from callboard.messages.topology.member_mail import (
    ClusterNews,
    LeaveCluster,
    MemberProblem,
    MessageSent,
    Pulse,
    WatchCluster,
)
from callboard.testing.drivers.decision_driver import DecisionDriver
from tests.unit.actors.topology.control_topic import Topic

SETTINGS = MemberSettings("t", "a", "a1", ClusterSettings(cluster_id="c"))
WATCH = "watch 1"


class Driver(DecisionDriver):
    """A view keeper, and what it has read of the topic."""

    topic: Topic
    read = 0

    def reads(self, topic: Topic, log_id: str = "log") -> None:
        """All that is new."""
        records = [
            new_record(event, record_id="r", time_ns=0, producer="p").at(offset, time_ms * 1_000_000)
            for offset, time_ms, event in topic.appended[self.read :]
            if isinstance(event, MemberEvent)
        ]
        self.read = len(topic.appended)
        self.done(ReadLog, LogRead(log_id, tuple(records), topic.state.offset + 1))
        if "rest" in self.timers:
            self.tick("rest")

    def sends(self, seq: int) -> None:
        self.feed(MessageSent(seq=seq, at_ms=int(self.now.mono_s * 1000)))

    def watch(self, **said: Any) -> None:
        self.feed(WatchCluster(**said), Origin(GATEWAY, 1))

    @property
    def news(self) -> ClusterNews:
        return self.sent(ClusterNews)[-1]

    @property
    def answers(self) -> list[ClusterNews]:
        return [event for _, event in self.replies() if isinstance(event, ClusterNews)]


def keeper(topic: Topic, **settings: Any) -> Driver:
    """One that has read the topic from its beginning to its end."""
    driver = Driver(ViewKeeper(replace(SETTINGS, **settings), Random(1)))
    driver.done(EnsureTopic)
    driver.done(FindBounds, TopicBounds("log", 0, topic.state.offset + 1))
    driver.reads(topic)
    return driver


def test_it_creates_the_topic_and_tries_until_it_can() -> None:
    driver = Driver(ViewKeeper(SETTINGS, Random(1)))

    driver.fail(EnsureTopic, LogUnavailable("away"))
    assert driver.news.problem == MemberProblem.UNAVAILABLE
    driver.tick("ensure")
    driver.done(EnsureTopic)

    assert driver.asks(FindBounds)


def test_it_rests_before_it_reads_again_the_longer_the_larger_the_cluster_is() -> None:
    rests = []
    for count in (2, 20, 220):
        topic = Topic(*(f"m{number}" for number in range(count)))
        driver = Driver(ViewKeeper(SETTINGS, Random(1)))
        driver.done(EnsureTopic)
        driver.done(FindBounds, TopicBounds("log", 0, topic.state.offset + 1))
        driver.reads(topic)
        topic.renew("m0")
        driver.reads(topic)
        rests.append([effect.seconds for effect in driver.effects if isinstance(effect, After)][-1])
    assert rests == [0.01, 0.1, SETTINGS.renew_ms / 2000]


def test_until_all_is_read_the_news_have_no_log() -> None:
    driver = Driver(ViewKeeper(SETTINGS, Random(1)))
    driver.done(EnsureTopic)
    driver.done(FindBounds, TopicBounds("log", 0, 100))

    driver.watch(wait_ms=0)

    assert (driver.answers[0].log_id, driver.answers[0].read_to, driver.answers[0].version) == ("", -1, 0)


def test_what_it_has_read_goes_to_the_other_actors_and_to_the_service() -> None:
    topic = Topic("a", "b")
    driver = keeper(topic)

    driver.watch(after=0, wait_ms=1000)

    (answer,) = driver.answers
    assert (answer.log_id, answer.state, answer.read_to) == ("log", topic.state, topic.state.offset)
    told = [effect.role for effect in driver.effects if effect in (Send(RENEWER, answer), Send(PROPOSER, answer))]
    assert told == [RENEWER, PROPOSER]


def test_every_question_is_a_pulse_for_the_renewer() -> None:
    driver = keeper(Topic("a"))

    driver.watch(wait_ms=1000, health=Health.POOR, load_permille=3)

    assert driver.sent(Pulse) == [Pulse(health=Health.POOR, load_permille=3)]


@pytest.mark.parametrize(
    ("happens", "is_news"),
    [
        (lambda topic: topic.renew("b"), False),
        (lambda topic: topic.repeat(), False),
        (lambda topic: topic.renew("b", health=Health.BAD), True),
        (lambda topic: topic.join("c"), True),
        (lambda topic: topic.leave("b"), True),
        (lambda topic: topic.ack("a"), True),
        (lambda topic: topic.ack("b"), False),
        (lambda topic: topic.put("b", zone="1"), True),
        (lambda topic: topic.suspect("a", "b"), True),
        (lambda topic: topic.command(drain="b"), True),
        (lambda topic: topic.command(freeze=True), True),
    ],
)
def test_a_waiting_question_is_answered_by_what_the_service_must_know(happens: Any, is_news: bool) -> None:
    topic = Topic("a", "b")
    driver = keeper(topic)
    driver.watch(after=driver.news.version, wait_ms=1000)

    happens(topic)
    driver.reads(topic)

    assert bool(driver.answers) is is_news
    assert (WATCH in driver.timers) is not is_news


def test_without_news_a_question_is_answered_in_the_end() -> None:
    driver = keeper(Topic("a", "b"))
    driver.watch(after=driver.news.version, wait_ms=700)
    before_s = driver.now.mono_s

    driver.tick(WATCH)

    assert driver.answers == [driver.news]
    assert driver.now.mono_s - before_s == pytest.approx(0.7)


def test_too_many_questions_do_not_wait() -> None:
    driver = keeper(Topic("a"))
    for _ in range(WATCHERS_MAX + 1):
        driver.watch(after=driver.news.version, wait_ms=1000)

    assert len(driver.answers) == 1


def test_the_version_grows_across_restarts() -> None:
    topic = Topic("a", "b")
    before = keeper(topic)
    topic.join("c")
    before.reads(topic)

    after = Driver(ViewKeeper(SETTINGS, Random(1)), now=before.now)
    after.pass_time(0.05)
    after.done(EnsureTopic)
    after.done(FindBounds, TopicBounds("log", 0, topic.state.offset + 1))
    after.reads(topic)

    assert after.news.version > before.news.version


def test_an_own_renewal_that_is_read_back_is_news_of_the_standing() -> None:
    topic = Topic("a", "b")
    driver = keeper(topic)
    assert driver.news.standing_until_ms == 0
    driver.sends(seq=topic.member("a").seq + 1)
    until_ms = int(driver.now.mono_s * 1000) + 7000
    driver.pass_time(0.5)

    topic.renew("a")
    driver.reads(topic)

    assert (driver.news.standing_until_ms, driver.news.lag_ms) == (until_ms, 500)


def test_one_that_leaves_has_no_standing_before_its_leave_is_appended() -> None:
    topic = Topic("a", "b")
    driver = keeper(topic)
    driver.sends(seq=topic.member("a").seq)
    driver.reads(topic)
    assert driver.news.standing_until_ms

    driver.feed(LeaveCluster())

    assert driver.news.standing_until_ms == 0


def test_one_that_leaves_shows_no_pulse_so_that_a_restarted_renewer_does_not_join_again() -> None:
    driver = keeper(Topic("a"))

    assert Send(RENEWER, Pulse()) in driver.feed(WatchCluster(wait_ms=10), Origin(GATEWAY, 1))
    driver.feed(LeaveCluster())
    assert Send(RENEWER, Pulse()) not in driver.feed(WatchCluster(wait_ms=10), Origin(GATEWAY, 2))


def test_a_restarted_peer_is_told_the_last_news() -> None:
    driver = keeper(Topic("a"))

    assert driver.feed(PeerUp(PROPOSER)) == [Send(PROPOSER, driver.news)]


def test_a_log_that_is_away_is_a_problem_until_it_is_back() -> None:
    topic = Topic("a")
    driver = keeper(topic)

    driver.fail(ReadLog, LogUnavailable("away"))
    assert (driver.news.problem, driver.news.state) == (MemberProblem.UNAVAILABLE, topic.state)
    driver.tick("follow t")
    driver.done(FindBounds, TopicBounds("log", 0, topic.state.offset + 1))
    driver.reads(topic)

    assert driver.news.problem == ""


def test_a_log_that_can_no_longer_be_read_because_it_was_replaced_ends_the_standing() -> None:
    driver = keeper(Topic("a"))
    driver.fail(ReadLog, LogReplaced("replaced"))
    driver.tick("follow t")

    driver.fail(FindBounds, LogReplaced("start again"))

    assert (driver.news.problem, driver.news.detail) == (MemberProblem.LOG_REPLACED, "start again")


@pytest.mark.parametrize("bounds", [TopicBounds("other", 0, 1000), TopicBounds("log", 0, 3)])
def test_another_topic_or_an_older_copy_ends_the_standing(bounds: TopicBounds) -> None:
    topic = Topic("a")
    driver = keeper(topic)
    driver.sends(seq=topic.member("a").seq)
    driver.fail(ReadLog, LogUnavailable("away"))
    assert driver.news.standing_until_ms
    driver.tick("follow t")

    driver.done(FindBounds, bounds)

    assert (driver.news.standing_until_ms, driver.news.problem) == (0, MemberProblem.LOG_REPLACED)
    assert not driver.asks(ReadLog)


# Snapshots.


def leading(topic: Topic, **settings: Any) -> Driver:
    """A keeper whose member leads: its last message was sent now."""
    topic.settle()
    driver = keeper(topic, **settings)
    driver.sends(seq=topic.member("a").seq)
    return driver


def test_the_leader_drafts_a_snapshot_when_there_are_many_records_since_the_last_one() -> None:
    topic = Topic("a", "b")
    driver = leading(topic, snapshot_every=20)
    topic.renew(*"ba" * 6)
    driver.sends(seq=topic.member("a").seq)

    driver.reads(topic)

    (draft,) = driver.sent(SnapshotMessage)
    assert draft.state == topic.state
    topic.renew("b")
    driver.reads(topic)
    assert len(driver.sent(SnapshotMessage)) == 1, "not twice in a second"


@pytest.mark.parametrize("instance", ["b", "c"])
def test_others_draft_no_snapshot(instance: str) -> None:
    topic = Topic("a", "b")
    topic.settle()
    driver = keeper(topic, instance=instance, incarnation=f"{instance}1", snapshot_every=20)
    topic.renew(*"ab" * 6)
    driver.reads(topic)

    assert not driver.sent(SnapshotMessage)


@pytest.mark.proves("T61")
def test_the_leader_trims_what_is_long_before_the_snapshot() -> None:
    topic = Topic("a", "b")
    driver = leading(topic, snapshot_every=20, keep_records=4)
    topic.renew(*"ba" * 6)
    assert topic.snapshot("a").accepted
    driver.sends(seq=topic.member("a").seq)

    driver.reads(topic)

    trim = driver.asked(TrimTopic)
    assert (trim.log_id, trim.below) == ("log", topic.state.snapshot - 4)


def trimmed(topic: Topic, first: int) -> Driver:
    """A keeper that starts on the topic without its records below ``first``."""
    driver = Driver(ViewKeeper(SETTINGS, Random(1)))
    driver.done(EnsureTopic)
    driver.done(FindBounds, TopicBounds("log", first, topic.state.offset + 1))
    driver.read = sum(offset < first for offset, _, _ in topic.appended)
    driver.reads(topic)
    return driver


def test_it_starts_from_an_accepted_snapshot() -> None:
    topic = Topic("a", "b")
    topic.settle()
    topic.snapshot("a")
    topic.renew("b")

    driver = trimmed(topic, first=topic.state.snapshot - 1)

    assert driver.news.state == topic.state


def test_it_does_not_start_from_a_snapshot_that_was_refused() -> None:
    topic = Topic("a", "b")
    held = topic.state
    topic.renew("b")
    assert not topic.snapshot("a", held).accepted

    driver = trimmed(topic, first=held.offset - 1)

    assert driver.news.problem == MemberProblem.GAP


def test_it_reads_all_when_there_is_no_snapshot_near_the_end() -> None:
    topic = Topic("a", "b")
    topic.renew(*"ab" * 30)
    end = topic.state.offset + 1
    driver = Driver(ViewKeeper(replace(SETTINGS, snapshot_every=10), Random(1)))
    driver.done(EnsureTopic)
    for start in (end - 12, end - 40, 0):
        driver.done(FindBounds, TopicBounds("log", 0, end))
        assert driver.asked(ReadLog).start == start
        driver.read = max(0, len(topic.appended) - end + start)
        driver.reads(topic)

    assert driver.news.state == topic.state


def test_it_stops_at_once() -> None:
    driver = keeper(Topic("a"))

    driver.feed(Stopping())

    assert driver.stopped
