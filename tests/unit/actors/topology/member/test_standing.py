"""A member's standing, by what it has read back."""

from dataclasses import replace

import pytest

from callboard.actors.topology.member.settings import MemberSettings
from callboard.actors.topology.member.standing import Standing
from callboard.messages.topology.cluster_state import ClusterSettings
from callboard.messages.topology.control_messages import AckMessage
from callboard.messages.topology.member_event import MemberEvent
from callboard.messages.topology.member_mail import MemberProblem, MessageSent
from tests.unit.actors.topology.control_topic import Topic

SETTINGS = MemberSettings("t", "a", "a1", ClusterSettings(cluster_id="c"))
COUNTED_MS = 7_000
"""Of a lease of 10 s, with a margin of 0.3."""


def standing() -> Standing:
    return Standing(SETTINGS)


def last_event(topic: Topic) -> MemberEvent:
    event = topic.appended[-1][2]
    assert isinstance(event, MemberEvent)
    return event


def sent_and_read(its: Standing, topic: Topic, at_ms: int, read_ms: int) -> None:
    """The message that is last in the topic was sent and is read back."""
    its.sent(MessageSent(seq=topic.member("a").seq, at_ms=at_ms))
    its.read(topic.state, read_ms)


def test_before_anything_is_read_back_there_is_none() -> None:
    its = standing()
    its.sent(MessageSent(seq=1, at_ms=1_000))

    assert its.until_ms == 0


@pytest.mark.proves("T50", "T55")
def test_a_message_counts_from_when_it_was_sent_however_late_it_is_read() -> None:
    its, topic = standing(), Topic("a", "b")

    sent_and_read(its, topic, at_ms=1_000, read_ms=6_000)

    assert (its.until_ms, its.lag_ms) == (1_000 + COUNTED_MS, 5_000)


def test_a_view_that_is_not_acknowledged_ends_the_standing_before_others_may_evict_for_it() -> None:
    its, topic = standing(), Topic("a", "b")
    topic.settle()
    topic.renew("a")
    sent_and_read(its, topic, at_ms=1_000, read_ms=1_001)
    topic.join("c")
    topic.renew("a")
    sent_and_read(its, topic, at_ms=3_000, read_ms=3_001)
    assert its.until_ms == 1_000 + COUNTED_MS, "the view began at 1,000 at the earliest"

    topic.ack("a")
    sent_and_read(its, topic, at_ms=4_000, read_ms=4_001)

    assert its.until_ms == 4_000 + COUNTED_MS


def test_a_message_that_was_not_read_back_does_not_count() -> None:
    its, topic = standing(), Topic("a")
    sent_and_read(its, topic, at_ms=1_000, read_ms=1_001)

    its.sent(MessageSent(seq=2, at_ms=3_000))
    its.read(topic.state, 3_500)

    assert its.until_ms == 1_000 + COUNTED_MS


def test_a_number_that_was_used_twice_counts_from_its_first_message() -> None:
    its, topic = standing(), Topic("a")
    its.sent(MessageSent(seq=1, at_ms=1_000))

    sent_and_read(its, topic, at_ms=3_000, read_ms=6_000)

    assert its.until_ms == 1_000 + COUNTED_MS


def test_word_of_a_message_may_come_after_it_was_read_back() -> None:
    its, topic = standing(), Topic("a")
    its.read(topic.state, 1_500)
    assert its.until_ms == 0

    sent_and_read(its, topic, at_ms=1_000, read_ms=1_600)

    assert its.until_ms == 1_000 + COUNTED_MS


def test_a_message_in_a_prefix_that_no_longer_lists_the_member_does_not_count() -> None:
    its, topic = standing(), Topic("a", "b", "c")
    sent_and_read(its, topic, at_ms=1_000, read_ms=1_001)
    its.sent(MessageSent(seq=2, at_ms=5_000))
    topic.renew("a")
    topic.command(evict="a")

    its.read(topic.state, 5_001)

    assert (its.until_ms, its.problem) == (0, MemberProblem.EVICTED)


def test_the_lease_is_that_of_the_settings_in_force() -> None:
    its, topic = standing(), Topic("a", lease_ms=20_000, ack_deadline_ms=20_000)

    sent_and_read(its, topic, at_ms=1_000, read_ms=1_001)

    assert its.until_ms == 1_000 + 14_000


def test_one_that_asked_to_leave_has_none() -> None:
    its, topic = standing(), Topic("a", "b")
    sent_and_read(its, topic, at_ms=1_000, read_ms=1_001)

    its.is_leaving = True
    assert its.until_ms == 0
    topic.leave("a")
    its.read(topic.state, 1_002)

    assert its.problem == MemberProblem.LEFT


def test_one_whose_successor_joined_was_taken_over() -> None:
    its, topic = standing(), Topic("a", "b")
    sent_and_read(its, topic, at_ms=1_000, read_ms=1_001)
    topic.restart("a")

    its.read(topic.state, 1_002)

    assert (its.until_ms, its.problem) == (0, MemberProblem.TAKEN_OVER)


@pytest.mark.parametrize("said", [{}, {"joined": True}])
def test_one_that_restarts_after_its_eviction_knows_it(said: dict[str, bool]) -> None:
    its, topic = standing(), Topic("a", "b", "c")
    topic.command(evict="a")
    if said:  # those that are gone may be forgotten, but the renewer remembers
        topic.state = replace(topic.state, gone=())
    its.sent(MessageSent(seq=9, at_ms=1_000, **said))

    its.read(topic.state, 1_001)

    assert its.problem == MemberProblem.EVICTED


def test_one_that_has_not_joined_yet_has_no_problem() -> None:
    its = standing()

    its.read(Topic("b").state, 1_000)

    assert its.problem == ""


def test_a_record_that_is_too_new_ends_it() -> None:
    its, topic = standing(), Topic("a")
    sent_and_read(its, topic, at_ms=1_000, read_ms=1_001)

    its.read(replace(topic.state, stopped=9), 1_002)

    assert (its.until_ms, its.problem) == (0, MemberProblem.TOO_NEW)


def refused_join(its: Standing, topic: Topic) -> None:
    topic.lives["a"] += 1  # the second process calls itself a2
    verdict = topic.join("a")
    topic.lives["a"] -= 1
    assert not verdict.accepted
    its.see(last_event(topic), verdict, topic.state)


def test_an_instance_id_is_in_use_twice_only_if_the_other_speaks() -> None:
    its, topic = Standing(replace(SETTINGS, incarnation="a2")), Topic("a", "b")
    refused_join(its, topic)
    refused_join(its, topic)
    assert its.problem == "", "the former process may be dead"

    topic.renew("a")
    refused_join(its, topic)

    assert its.problem == MemberProblem.DUPLICATE_ID


def test_an_incompatible_member_is_told() -> None:
    its, topic = standing(), Topic("b")
    verdict = topic.join("a", protocol=7, protocol_min=7)

    its.see(last_event(topic), verdict, topic.state)

    assert its.problem == MemberProblem.INCOMPATIBLE


@pytest.mark.parametrize(
    ("members", "disagreeing", "stops"), [("ab", "b", True), ("abc", "b", False), ("abc", "bc", True)]
)
def test_a_member_stops_when_half_of_all_disagree_with_it(members: str, disagreeing: str, stops: bool) -> None:
    its, topic = standing(), Topic(*members)

    for who in disagreeing:
        verdict = topic.ack(who, state_hash="0" * 32)
        assert isinstance(last_event(topic), AckMessage)
        its.see(last_event(topic), verdict, topic.state)

    assert (its.problem == MemberProblem.DIVERGED) is stops


def test_a_problem_that_may_pass_passes_and_a_final_one_stays() -> None:
    its = standing()
    its.report(MemberProblem.UNAVAILABLE, "no log")
    its.resolve(MemberProblem.UNAVAILABLE)
    assert its.problem == ""

    its.report(MemberProblem.LOG_REPLACED, "another log")
    its.report(MemberProblem.UNAVAILABLE, "no log")

    assert (its.problem, its.detail) == (MemberProblem.LOG_REPLACED, "another log")
