"""The rules for joining and leaving, the order of the members and their leader."""

import pytest

from callboard.actors.topology.verdict import Reason
from callboard.messages.topology import limits
from callboard.messages.topology.cluster_state import Barrier
from callboard.messages.topology.control_messages import JoinMessage, RenewMessage
from callboard.testing.simulation.topology.oracle import but_for_the_record
from tests.unit.actors.topology.control_topic import LEASE_MS, Topic


@pytest.mark.proves("T5")
def test_a_lone_instance_forms_a_cluster_and_leads_it():
    topic = Topic("a")
    assert (topic.order, topic.leader) == ("a", "a")
    assert topic.state.view.epoch == topic.state.view.leader_epoch == topic.state.offset


@pytest.mark.proves("T10")
def test_members_are_in_the_order_in_which_they_joined():
    topic = Topic("c", "a", "d")
    topic.join("b", priority=-5)
    assert (topic.order, topic.leader) == ("cadb", "c")


@pytest.mark.proves("T84")
def test_the_epoch_of_a_view_is_the_offset_of_its_record():
    topic = Topic("a")
    topic.join("b")
    assert topic.state.view.epoch == topic.state.offset
    topic.renew("a")
    topic.put("a", zone="east")
    topic.suspect("a", "b")
    assert topic.state.view.epoch < topic.state.offset, "only members and leader make a view"
    topic.leave("b")
    assert topic.state.view.epoch == topic.state.offset


def test_no_instance_joins_before_the_cluster_is_founded():
    topic = Topic(founded=False)
    assert topic.join("a").reason is Reason.NOT_FOUNDED
    assert topic.configure(topic.settings).accepted
    assert topic.join("a").accepted


@pytest.mark.proves("T9")
def test_the_leader_stays_while_others_come_and_go():
    topic = Topic("a", "b", "c")
    since = topic.state.view.leader_epoch
    topic.leave("b")
    topic.join("d", priority=-1)
    topic.restart("c")
    assert (topic.leader, topic.state.view.leader_epoch) == ("a", since)
    assert topic.state.view.epoch > since


@pytest.mark.proves("T45")
def test_when_the_leader_leaves_the_first_by_priority_then_by_order_leads():
    topic = Topic("a")
    for who, priority in (("b", 10), ("c", 2), ("d", 2)):
        topic.join(who, priority=priority)
    topic.leave("a")
    assert topic.leader == "c", "priorities are numbers: 2 comes before 10"
    assert topic.state.view.leader_epoch == topic.state.offset
    topic.leave("c")
    assert topic.leader == "d"


@pytest.mark.proves("T10")
def test_one_that_left_comes_back_at_the_end():
    topic = Topic("a", "b", "c")
    topic.leave("a")
    topic.restart("a")
    assert (topic.order, topic.leader) == ("bca", "b")


@pytest.mark.proves("T59", "T85")
def test_a_restarted_process_that_knows_its_former_incarnation_takes_its_own_place_at_the_end():
    topic = Topic("a", "b")
    assert topic.restart("a").accepted
    assert (topic.order, topic.leader) == ("ba", "b")
    assert topic.member("a").incarnation == "a2"
    assert topic.append(RenewMessage(instance="a", incarnation="a1", seq=9)).reason is Reason.OTHER_INCARNATION


def test_a_leader_that_restarts_is_a_candidate_like_any_other_member():
    topic = Topic("a")
    topic.join("b", priority=1)
    topic.restart("a")
    assert (topic.order, topic.leader, topic.state.view.leader_epoch) == ("ba", "a", topic.state.offset)


def test_a_lone_leader_that_restarts_leads_with_a_new_token():
    topic = Topic("a")
    topic.restart("a")
    assert (topic.leader, topic.state.view.leader_epoch) == ("a", topic.state.offset)


@pytest.mark.proves("T43")
@pytest.mark.parametrize("previous", ["", "other"])
def test_a_second_process_under_one_id_is_refused_by_a_verdict_that_names_both(previous: str):
    topic = Topic("a", "b")
    before = but_for_the_record(topic.state)
    verdict = topic.restart("a", previous=previous)
    assert verdict.reason is Reason.DUPLICATE_ID
    assert "a1" in verdict.detail
    assert "a2" in verdict.detail
    assert but_for_the_record(topic.state) == before


@pytest.mark.proves("T59")
def test_a_process_that_forgot_its_former_incarnation_joins_once_that_was_silent_for_a_lease():
    topic = Topic("a")
    topic.lives["a"] += 1
    verdicts = []
    for _ in range(6):
        verdicts.append(topic.join("a").reason)
        topic.time_ms += 2_000
    assert verdicts == [Reason.DUPLICATE_ID] * 5 + [Reason.ACCEPTED], "its own attempts let the lease clock go on"
    assert topic.member("a").incarnation == "a2"


def test_a_message_that_comes_twice_counts_once():
    topic = Topic("a", "b")
    assert topic.repeat().reason is Reason.DUPLICATE
    topic.put("a", zone="east")
    topic.put("a", zone="west")
    assert topic.repeat(2).reason is Reason.DUPLICATE
    assert topic.member("a").properties == (("zone", "west"),)


def test_a_duplicate_does_not_renew_the_lease():
    topic = Topic("a", "b")
    heard = topic.member("b").heard_ms
    topic.time_ms += 1_000
    topic.repeat()
    assert topic.member("b").heard_ms == heard


def test_a_late_copy_of_a_join_does_not_bring_the_dead_back():
    topic = Topic("a", "b")
    topic.leave("b")
    assert topic.repeat(2).reason is Reason.GONE
    topic.restart("b")
    topic.leave("b")
    assert topic.repeat(3).reason is Reason.GONE
    assert topic.order == "a"


@pytest.mark.proves("T61")
def test_a_very_late_copy_of_a_join_does_not_bring_a_forgotten_incarnation_back(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr("callboard.actors.topology.views.GONE_MAX", 2)
    topic = Topic("a", "b")
    topic.leave("b")
    left = topic.state.offset
    for who in "cde":
        topic.join(who)
        topic.leave(who)
    assert [each.instance for each in topic.state.gone] == ["d", "e"]
    late = JoinMessage(instance="b", incarnation="b1", seq=1, read_to=left - 4)
    assert topic.append(late).reason is Reason.OUTDATED
    assert topic.restart("b").accepted


def test_messages_of_strangers_do_nothing():
    topic = Topic("a")
    for refused in (topic.renew("x"), topic.put("x", k="v"), topic.leave("x"), topic.ack("x"), topic.propose("x", "a")):
        assert refused.reason is Reason.NOT_A_MEMBER
    assert topic.order == "a"


def test_an_instance_that_does_not_speak_the_protocol_is_refused():
    topic = Topic("a")
    assert topic.join("b", protocol=3, protocol_min=2).reason is Reason.INCOMPATIBLE
    assert topic.join("c", protocol=3, protocol_min=1).accepted


def test_a_full_cluster_refuses_new_instances(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr("callboard.actors.topology.joining.MEMBERS_MAX", 2)
    topic = Topic("a", "b")
    assert limits.MEMBERS_MAX == 1000
    assert topic.join("c").reason is Reason.FULL
    assert topic.restart("b").accepted, "a restart needs no more room"


def test_a_member_that_says_twice_that_it_joins_is_one_member():
    topic = Topic("a")
    assert topic.join("a").reason is Reason.UNCHANGED
    assert topic.order == "a"


def test_an_empty_cluster_continues_with_the_next_instance_to_join():
    topic = Topic("a")
    topic.leave("a")
    assert (topic.order, topic.leader) == ("", "")
    topic.join("b")
    assert (topic.leader, topic.state.view.leader_epoch) == ("b", topic.state.offset)


def test_every_message_of_a_member_renews_its_lease():
    topic = Topic("a", "b")
    topic.time_ms += 3_000
    assert topic.propose("a", "b").reason is Reason.LEASE_RUNS
    assert topic.member("a").heard_ms == topic.state.clock.now_ms
    topic.renew("b", read_to=7, load_permille=300)
    assert (topic.member("b").read_to, topic.member("b").load_permille) == (7, 300)


def test_barriers_of_the_departed_are_kept_until_the_view_is_settled():
    def barrier(topic: str, offset: int) -> Barrier:
        return Barrier(topic=topic, log_id="l", offset=offset)

    topic = Topic("a", "b", "c")
    topic.leave("b", barriers=(barrier("q", 7), barrier("p", 3)))
    assert topic.state.view.barriers == (barrier("p", 3), barrier("q", 7))
    topic.leave("c", barriers=(barrier("p", 5), barrier("q", 2)))
    assert topic.state.view.barriers == (barrier("p", 5), barrier("q", 7)), "they are still owed, each the highest"
    topic.settle()
    topic.restart("b")
    assert topic.state.view.barriers == ()


def test_the_barriers_of_a_takeover_are_those_of_the_former_incarnation():
    topic = Topic("a", "b")
    owed = Barrier(topic="q", log_id="l", offset=7)
    topic.restart("b", barriers=(owed,))
    assert topic.state.view.barriers == (owed,)


def test_a_takeover_needs_no_lease_to_run_out():
    topic = Topic("a", "b")
    topic.restart("b")
    assert topic.state.clock.now_ms < LEASE_MS
    assert topic.order == "ab"
