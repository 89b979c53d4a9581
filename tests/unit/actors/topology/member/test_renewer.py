"""What the renewer says, at each input."""

from dataclasses import replace
from random import Random
from typing import Any

import pytest

from callboard.actors.core.agent import GATEWAY
from callboard.actors.core.decision import Origin, PeerUp, Reply, Send, Stopping
from callboard.actors.core.effects import Append, FindBounds, TopicBounds
from callboard.actors.topology.member.renewer import Renewer
from callboard.actors.topology.member.roles import VIEW_KEEPER
from callboard.actors.topology.member.settings import MemberSettings
from callboard.errors import LogUnavailable, TopicMissing
from callboard.messages.event import Event
from callboard.messages.topology.cluster_state import EMPTY, Barrier, ClusterSettings, ClusterState, Health
from callboard.messages.topology.control_messages import (
    AckMessage,
    AdminMessage,
    JoinMessage,
    LeaveMessage,
    PropertiesMessage,
    ProposeMessage,
    RenewMessage,
    SnapshotMessage,
)
from callboard.messages.topology.member_event import MemberEvent
from callboard.messages.topology.member_mail import (
    Acknowledged,
    AcknowledgeView,
    ChangeProperties,
    ClusterNews,
    LeaveCluster,
    LeftCluster,
    MessageSent,
    PropertiesChanged,
    Pulse,
    TopicRead,
)
from callboard.messages.topology.reading import read
from callboard.testing.drivers.decision_driver import DecisionDriver
from tests.unit.actors.topology.control_topic import Topic

SETTINGS = MemberSettings("t", "a", "a1", ClusterSettings(cluster_id="c"), priority=3, tags=("blue",))


class Driver(DecisionDriver):
    def news(self, state: ClusterState, **told: Any) -> None:
        self.feed(ClusterNews(**{"version": 1, "log_id": "log", "state": state, "read_to": state.offset} | told))

    def ask(self, question: Event, number: int = 1) -> None:
        self.feed(question, Origin(GATEWAY, number))

    @property
    def saying(self) -> MemberEvent | None:
        """The message that is being appended, if one is."""
        found = [effect for effect in self.open if isinstance(effect, Append)]
        if not found:
            return None
        event = read(found[0].records[0].at(0, 0))
        assert isinstance(event, MemberEvent)
        return event

    def appended(self) -> MemberEvent:
        event = self.saying
        assert event is not None
        self.done(Append, (0,))
        return event

    def answers(self) -> list[Event]:
        return [event for _, event in self.replies()]


def renewer(state: ClusterState | None = None, **settings: Any) -> Driver:
    """One that has news and a pulse."""
    driver = Driver(Renewer(replace(SETTINGS, **settings), Random(1)))
    driver.feed(Pulse(health=Health.POOR, load_permille=7))
    if state is not None:
        driver.news(state)
    return driver


def heard(topic: Topic, event: MemberEvent) -> ClusterState:
    assert topic.append(event).accepted
    return topic.state


def member(topic: Topic | None = None) -> tuple[Driver, Topic]:
    """One whose first renewal is read back."""
    topic = topic or Topic("a", "b", "c")
    driver = renewer(topic.state)
    driver.news(heard(topic, driver.appended()))
    return driver, topic


# Joining.


def test_nothing_is_said_before_the_topic_is_read() -> None:
    driver = renewer()
    driver.news(EMPTY, log_id="")

    assert driver.saying is None


def test_an_empty_topic_is_founded_and_joined_at_once() -> None:
    driver, topic = renewer(EMPTY), Topic(founded=False)
    founding = driver.appended()
    assert isinstance(founding, AdminMessage)
    assert founding.configure == SETTINGS.founding

    driver.news(heard(topic, founding))

    join = driver.saying
    assert isinstance(join, JoinMessage)
    assert (join.priority, join.tags, join.previous, join.read_to) == (3, ("blue",), "", topic.state.offset)


def test_without_a_pulse_nothing_is_said() -> None:
    driver = Driver(Renewer(SETTINGS, Random(1)))
    driver.news(Topic("b").state)
    assert driver.saying is None

    driver.feed(Pulse())

    assert isinstance(driver.saying, JoinMessage)


def test_a_refused_join_is_repeated() -> None:
    driver = renewer(Topic("b").state)
    first = driver.appended()

    driver.tick("renew")

    assert isinstance(driver.saying, JoinMessage)
    assert driver.saying.seq == first.seq + 1


def test_a_former_incarnation_is_replaced_with_barriers_for_what_it_wrote() -> None:
    topic = Topic("a", "b")
    driver = renewer(topic.state, incarnation="a2", previous="a1", streams=("s", "new"))
    assert driver.saying is None
    s, new = [effect for effect in driver.open if isinstance(effect, FindBounds)]
    driver.open = [s]
    driver.done(FindBounds, TopicBounds("log-s", 1, 44))
    driver.open = [new]
    driver.fail(FindBounds, TopicMissing("new"))

    join = driver.saying

    assert isinstance(join, JoinMessage)
    assert (join.previous, join.barriers) == ("a1", (Barrier(topic="s", log_id="log-s", offset=44),))


def test_a_live_incarnation_that_is_not_the_former_one_is_not_named() -> None:
    driver = renewer(Topic("a", "b").state, incarnation="a3", previous="a2")

    assert isinstance(driver.saying, JoinMessage)
    assert driver.saying.previous == ""


def test_each_join_that_may_replace_an_unknown_incarnation_says_where_its_records_end_by_then() -> None:
    driver = renewer(Topic("a", "b").state, incarnation="a3", streams=("s",))
    for end in (44, 50):
        assert driver.saying is None
        driver.done(FindBounds, TopicBounds("log-s", 1, end))
        join = driver.appended()
        assert isinstance(join, JoinMessage)
        assert (join.previous, join.barriers) == ("", (Barrier(topic="s", log_id="log-s", offset=end),))
        driver.tick("renew")


# Renewing.


@pytest.mark.proves("T42")
def test_a_member_renews_in_the_interval_with_what_the_service_says_of_itself() -> None:
    driver, _ = member()
    before_s = driver.now.mono_s

    driver.tick("renew")

    assert 1.6 <= driver.now.mono_s - before_s <= 2
    renewal = driver.saying
    assert isinstance(renewal, RenewMessage)
    assert (renewal.health, renewal.load_permille) == (Health.POOR, 7)


def test_a_renewal_says_how_far_the_member_has_read() -> None:
    driver, topic = member()

    driver.feed(TopicRead(read_to=topic.state.offset + 7))
    driver.tick("renew")

    assert isinstance(driver.saying, RenewMessage)
    assert driver.saying.read_to == topic.state.offset + 7


def test_the_view_keeper_is_told_when_a_message_is_sent_before_it_is() -> None:
    driver, _ = member()

    effects = driver.tick("renew")

    told = [effect for effect in effects if isinstance(effect, Send | Append)]
    assert isinstance(told[0], Send)
    assert isinstance(told[0].event, MessageSent)
    assert driver.saying is not None
    assert (told[0].event.seq, told[0].event.at_ms) == (driver.saying.seq, int(driver.now.mono_s * 1000))


def test_without_a_pulse_the_lease_runs_out_and_with_one_it_is_renewed_at_once() -> None:
    driver, _ = member()
    driver.pass_time(5)
    driver.tick("renew")
    assert driver.saying is None

    driver.feed(Pulse())

    assert isinstance(driver.saying, RenewMessage)


def test_a_failed_append_is_tried_again_within_half_an_interval() -> None:
    driver, _ = member()
    driver.tick("renew")
    for _ in range(9):
        driver.fail(Append, LogUnavailable("away"))
        before_s = driver.now.mono_s
        driver.feed(Pulse())
        assert driver.saying is None
        driver.tick("retry")
        assert driver.now.mono_s - before_s <= 1

    assert isinstance(driver.saying, RenewMessage)
    assert driver.notes() == ["message.failed"] * 9


@pytest.mark.parametrize("read_back", [False, True])
def test_a_restarted_renewer_uses_none_of_the_numbers_of_its_predecessors(read_back: bool) -> None:
    topic = Topic("a" if read_back else "b")
    first, second = renewer(topic.state), renewer()
    second.pass_time(1)
    second.feed(Pulse())
    second.news(topic.state)
    second.tick("renew")

    assert first.saying is not None
    assert second.saying is not None
    assert second.saying.seq >= first.saying.seq + 1000 - 1, "one message a millisecond is the most that it said"


def test_a_restarted_view_keeper_is_told_what_was_sent_last() -> None:
    driver, _ = member()
    (sent, *_) = driver.sent(MessageSent)

    effects = driver.feed(PeerUp(VIEW_KEEPER))

    assert effects == [Send(VIEW_KEEPER, replace(sent, joined=True))]


def test_a_restarted_view_keeper_is_told_that_the_member_leaves() -> None:
    driver, topic = member()
    driver.ask(LeaveCluster())

    driver.feed(PeerUp(VIEW_KEEPER))
    driver.news(EMPTY, log_id="")

    assert len(driver.sent(LeaveCluster)) == 2
    assert driver.answers() == [], "it is still listed, as far as is known"
    driver.news(heard(topic, driver.appended()))
    assert driver.answers() == [LeftCluster(epoch=topic.state.view.epoch)]


@pytest.mark.parametrize("problem", ["evicted", "taken_over", "duplicate_id", "too_new", "log_replaced", "gap"])
def test_after_a_final_problem_nothing_is_said(problem: str) -> None:
    driver, topic = member()
    driver.news(topic.state, problem=problem)
    driver.tick("renew")

    assert driver.saying is None


def test_while_the_log_is_away_it_is_tried() -> None:
    driver, topic = member()
    driver.news(topic.state, problem="unavailable")
    driver.tick("renew")

    assert isinstance(driver.saying, RenewMessage)


def test_one_that_is_listed_no_more_does_not_join_again() -> None:
    driver, topic = member()
    topic.command(evict="a")
    driver.news(topic.state)
    driver.tick("renew")

    assert driver.saying is None


# Questions.


def test_a_view_is_acknowledged_with_its_digest_and_answered_when_read_back() -> None:
    driver, topic = member()
    view = topic.state.view

    driver.ask(AcknowledgeView(epoch=view.epoch))
    ack = driver.appended()

    assert isinstance(ack, AckMessage)
    assert (ack.epoch, ack.state_hash) == (view.epoch, view.state_hash)
    assert driver.answers() == []
    driver.news(heard(topic, ack))
    assert driver.answers() == [Acknowledged(epoch=view.epoch)]
    driver.ask(AcknowledgeView(epoch=view.epoch), 2)
    assert driver.saying is None
    assert driver.answers() == [Acknowledged(epoch=view.epoch)] * 2


@pytest.mark.proves("T34")
def test_an_acknowledgement_that_is_lost_is_repeated_and_one_that_is_outdated_is_not() -> None:
    driver, topic = member()
    driver.ask(AcknowledgeView(epoch=topic.state.view.epoch))
    driver.appended()
    driver.tick("renew")
    renewal = driver.appended()
    assert isinstance(renewal, RenewMessage)
    driver.news(heard(topic, renewal))
    assert isinstance(driver.appended(), AckMessage)

    epoch = topic.state.view.epoch
    topic.leave("c")
    driver.news(topic.state)

    assert driver.answers() == [Acknowledged(epoch=epoch)]


def test_a_view_that_is_not_read_yet_is_acknowledged_later() -> None:
    driver, topic = member()
    topic.leave("c")
    driver.ask(AcknowledgeView(epoch=topic.state.view.epoch))
    assert driver.saying is None

    driver.news(topic.state)

    assert isinstance(driver.saying, AckMessage)


def test_changed_properties_are_answered_when_read_back() -> None:
    driver, topic = member()

    driver.ask(ChangeProperties(set=(("x", "1"),), unset=("y",)))
    said = driver.appended()

    assert isinstance(said, PropertiesMessage)
    assert driver.answers() == []
    driver.news(heard(topic, said))
    assert driver.answers() == [PropertiesChanged(offset=topic.state.offset)]


def test_properties_that_do_not_fit_are_not_said() -> None:
    driver, _ = member()

    driver.ask(ChangeProperties(set=tuple((f"n{number}", "") for number in range(65))))

    assert driver.saying is None
    (answer,) = driver.answers()
    assert isinstance(answer, PropertiesChanged)
    assert "the most is 64" in answer.problem


def test_one_that_leaves_reads_the_barriers_and_then_says_only_this() -> None:
    topic = Topic("a", "b", "c")
    driver = renewer(topic.state, streams=("s",))
    driver.news(heard(topic, driver.appended()))

    driver.ask(LeaveCluster(reason="deployment"))
    assert driver.sent(LeaveCluster)
    assert driver.saying is None
    driver.fail(FindBounds, LogUnavailable("away"))
    driver.tick("retry")
    driver.done(FindBounds, TopicBounds("log-s", 1, 44))
    leave = driver.appended()

    assert isinstance(leave, LeaveMessage)
    assert (leave.reason, leave.barriers) == ("deployment", (Barrier(topic="s", log_id="log-s", offset=44),))
    driver.ask(AcknowledgeView(epoch=topic.state.view.epoch), 2)
    driver.ask(ChangeProperties(set=(("x", "1"),)), 3)
    assert driver.saying is None
    driver.news(heard(topic, leave), problem="left")
    assert LeftCluster(epoch=topic.state.view.epoch) in driver.answers()
    assert len(driver.answers()) == 3
    driver.tick("renew")
    assert driver.saying is None


def test_one_that_has_said_nothing_leaves_without_a_word() -> None:
    driver = Driver(Renewer(SETTINGS, Random(1)))
    driver.news(Topic("b").state)

    driver.ask(LeaveCluster())
    driver.feed(Pulse())

    assert driver.answers() == [LeftCluster()]
    assert driver.saying is None


def test_one_whose_join_is_not_read_back_leaves_all_the_same() -> None:
    driver = renewer(Topic("b").state)
    driver.appended()

    driver.ask(LeaveCluster())

    assert isinstance(driver.appended(), LeaveMessage)
    assert driver.answers() == [LeftCluster()]


# Drafts.


def test_a_draft_is_numbered_and_appended() -> None:
    driver, topic = member()
    draft = ProposeMessage(**SETTINGS.by(), base_epoch=topic.state.view.epoch, remove=("b",))

    driver.feed(draft)

    assert driver.saying is not None
    assert driver.saying.seq > topic.member("a").seq
    assert replace(driver.saying, seq=0) == draft


def test_a_draft_that_comes_while_another_message_is_under_way_is_dropped() -> None:
    driver, topic = member()
    driver.tick("renew")

    driver.feed(SnapshotMessage(**SETTINGS.by(), state=topic.state, state_hash=""))
    driver.appended()

    assert driver.saying is None


def test_without_a_pulse_no_draft_is_appended_because_it_would_renew_the_lease() -> None:
    driver, topic = member()
    driver.pass_time(5)

    driver.feed(ProposeMessage(**SETTINGS.by(), base_epoch=topic.state.view.epoch, remove=("b",)))
    assert driver.saying is None
    driver.feed(Pulse())

    assert driver.saying is None, "the evidence may be outdated"


def test_it_stops_at_once() -> None:
    driver, _ = member()

    driver.feed(Stopping())

    assert driver.stopped
    assert not [effect for effect in driver.effects if isinstance(effect, Reply)]
