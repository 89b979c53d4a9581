"""The rules for acknowledgements, properties, suspicions, and what the leader writes."""

import pytest

from callboard.actors.topology.verdict import Reason
from callboard.messages.topology.cluster_state import AckPolicy
from callboard.messages.topology.control_messages import LeaderMessage
from callboard.testing.simulation.topology.oracle import but_for_the_record
from tests.unit.actors.topology.control_topic import LEASE_MS, Topic


@pytest.mark.proves("T31")
def test_a_view_is_settled_when_all_members_have_acknowledged_it():
    topic = Topic("a", "b")
    epoch = topic.state.view.epoch
    assert topic.ack("a").settled < epoch
    assert topic.ack("b").settled == epoch


@pytest.mark.proves("T34")
def test_a_newer_view_is_settled_by_its_own_acknowledgements_only():
    topic = Topic("a", "b")
    older = topic.state.view.epoch
    topic.ack("a")
    topic.join("c")
    assert topic.ack("b", epoch=older).reason is Reason.OUTDATED
    topic.ack("b")
    topic.ack("c")
    assert topic.state.view.settled < topic.state.view.epoch
    topic.ack("a")
    assert topic.state.view.settled == topic.state.view.epoch


def test_an_acknowledgement_of_a_view_to_come_does_not_count():
    topic = Topic("a")
    assert topic.ack("a", epoch=topic.state.offset + 4).reason is Reason.OUTDATED


@pytest.mark.proves("T60")
def test_a_joiner_sees_no_settled_view_before_the_others_have_acknowledged_it():
    topic = Topic("a")
    topic.settle()
    topic.join("b")
    topic.ack("b")
    assert topic.state.view.settled < topic.state.view.epoch
    topic.ack("a")
    assert topic.state.view.settled == topic.state.view.epoch


def test_an_acknowledgement_says_which_state_it_is_of():
    topic = Topic("a")
    verdict = topic.ack("a", state_hash="0" * 32)
    assert verdict.reason is Reason.DIVERGED
    assert topic.state.view.state_hash in verdict.detail
    assert topic.state.view.settled < topic.state.view.epoch


def test_a_second_acknowledgement_changes_nothing():
    topic = Topic("a", "b")
    topic.ack("a")
    assert topic.ack("a").reason is Reason.UNCHANGED


@pytest.mark.proves("T35")
def test_a_view_waits_for_all_acknowledgements_if_the_settings_say_so():
    topic = Topic("a", "b", ack_policy=AckPolicy.WAIT)
    topic.ack("a")
    topic.passes(10 * LEASE_MS, "a", "b")
    assert topic.state.view.settled < topic.state.view.epoch


@pytest.mark.proves("T35")
def test_a_view_settles_degraded_at_the_deadline_if_the_settings_say_so():
    topic = Topic("a", "b", ack_policy=AckPolicy.PROCEED)
    topic.ack("a")
    topic.passes(LEASE_MS - 1_000, "a", "b")
    assert topic.state.view.settled < topic.state.view.epoch
    topic.passes(2_000, "a", "b")
    assert (topic.state.view.settled, topic.state.view.degraded) == (topic.state.view.epoch, True)
    assert topic.ack("b").accepted
    assert (topic.state.view.settled, topic.state.view.degraded) == (topic.state.view.epoch, False)
    topic.passes(LEASE_MS, "a", "b")
    topic.leave("b")
    assert topic.state.view.settled < topic.state.view.epoch, "a view has its own deadline"


def test_an_outage_of_the_log_does_not_pass_the_deadline():
    topic = Topic("a", "b", ack_policy=AckPolicy.PROCEED)
    topic.time_ms += 3_600_000
    topic.renew("a")
    assert topic.state.view.settled < topic.state.view.epoch


def test_properties_are_set_and_unset_without_a_new_view():
    topic = Topic()
    topic.join("a", properties=(("zone", "east"), ("name", "Anna")), tags=("web",))
    view = topic.state.view
    assert topic.put("a", "zone", port="80", name="Ann").accepted
    assert topic.member("a").properties == (("name", "Ann"), ("port", "80"))
    assert topic.member("a").properties_offset == topic.state.offset
    assert topic.member("a").tags == ("web",)
    assert topic.state.view == view


def test_properties_that_are_so_already_change_nothing():
    topic = Topic("a")
    topic.put("a", zone="east")
    since = topic.member("a").properties_offset
    assert topic.put("a", "other", zone="east").reason is Reason.UNCHANGED
    assert topic.member("a").properties_offset == since


@pytest.mark.proves("T41", "T95")
def test_a_member_has_no_more_properties_than_fit_together():
    topic = Topic("a")
    topic.put("a", **{f"p{number}": "" for number in range(64)})
    assert topic.put("a", one_more="").reason is Reason.TOO_LARGE
    assert topic.put("a", "p0", one_more="").accepted
    before = but_for_the_record(topic.state)
    assert topic.put("a", **{f"p{number}": "x" * 1000 for number in range(1, 20)}).reason is Reason.TOO_LARGE
    assert but_for_the_record(topic.state) == before


def test_a_restarted_member_has_the_properties_that_it_joined_with():
    topic = Topic("a", "b")
    topic.put("b", zone="east")
    topic.restart("b", properties=(("zone", "west"),))
    assert topic.member("b").properties == (("zone", "west"),)


def test_a_suspicion_is_shown_and_removes_nobody():
    topic = Topic("a", "b", "c")
    view = topic.state.view
    assert topic.suspect("c", "b").accepted
    assert topic.suspect("a", "b").accepted
    assert topic.member("b").suspected_by == ("a", "c")
    assert topic.state.view == view
    assert topic.suspect("a", "b").reason is Reason.UNCHANGED
    assert topic.suspect("a", "b", withdrawn=True).accepted
    assert topic.suspect("a", "b", withdrawn=True).reason is Reason.UNCHANGED
    assert topic.member("b").suspected_by == ("c",)


@pytest.mark.parametrize("who", ["b", "c"])
def test_a_suspicion_ends_with_either_of_the_two(who: str):
    topic = Topic("a", "b", "c")
    topic.suspect("c", "b")
    topic.restart(who)
    assert topic.member("b").suspected_by == ()


def test_a_former_incarnation_cannot_be_suspected():
    topic = Topic("a", "b")
    topic.restart("b")
    assert topic.suspect("a", "b", life="b1").reason is Reason.NOT_A_MEMBER
    assert topic.suspect("a", "nobody").reason is Reason.NOT_A_MEMBER


def test_only_the_leader_writes_as_the_leader_and_only_in_its_own_epoch():
    topic = Topic("a", "b")
    before = topic.state
    assert topic.lead("a").accepted
    assert but_for_the_record(topic.state) == but_for_the_record(before)
    assert topic.lead("b").reason is Reason.NOT_LEADING
    first = topic.state.view.leader_epoch
    topic.command(transfer="b")
    for who, epoch in (("a", first), ("a", None), ("b", first)):
        assert topic.lead(who, epoch).reason is Reason.NOT_LEADING
    assert topic.lead("b").accepted
    topic.command(transfer="a")
    assert topic.lead("a", first).reason is Reason.NOT_LEADING
    assert topic.lead("a").accepted


def test_what_a_former_life_of_the_leader_wrote_late_is_refused():
    topic = Topic("a")
    late = topic.by("a")
    epoch = topic.state.view.leader_epoch
    topic.restart("a")
    verdict = topic.append(LeaderMessage(**late, leader_epoch=epoch))
    assert verdict.reason is Reason.OTHER_INCARNATION
    assert topic.lead("a", epoch).reason is Reason.NOT_LEADING
