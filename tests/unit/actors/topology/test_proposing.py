"""The rules for evicting members by proposal."""

from dataclasses import replace

import pytest

from callboard.actors.topology.verdict import Reason
from callboard.messages.topology.cluster_state import AckPolicy, Barrier
from callboard.messages.topology.control_messages import Evidence
from callboard.testing.simulation.topology.oracle import but_for_the_record
from tests.unit.actors.topology.control_topic import GAP_MS, LEASE_MS, Topic


def silent(*joined: str, alive: str = "a", **settings: int) -> Topic:
    """A topic on which all but ``alive`` have just been silent for a lease."""
    topic = Topic(*joined, **settings)
    topic.settle()
    topic.passes(LEASE_MS, alive)
    return topic


def test_a_member_that_was_silent_for_a_lease_is_evicted():
    topic = silent("a", "b", "c", alive="a")
    topic.renew("b")
    assert topic.propose("a", "c").accepted
    assert topic.order == "ab"
    assert topic.state.view.epoch == topic.state.offset


def test_an_evicted_leader_is_replaced_under_a_new_token():
    topic = silent("a", "b", "c", alive="c")
    topic.renew("b")
    assert topic.propose("c", "a").accepted
    assert (topic.leader, topic.state.view.leader_epoch) == ("b", topic.state.offset)


@pytest.mark.proves("T42", "T86")
def test_a_member_is_safe_until_its_lease_is_over_to_the_millisecond():
    topic = Topic("a", "b")
    heard_ms = topic.time_ms
    topic.passes(LEASE_MS - 500, "a")
    topic.renew("a", after_ms=heard_ms + LEASE_MS - 2 - topic.time_ms)
    verdict = topic.propose("a", "b")
    assert verdict.reason is Reason.LEASE_RUNS
    assert f"b was silent for {LEASE_MS - 1} of {LEASE_MS} ms" in verdict.detail
    assert topic.propose("a", "b").accepted


@pytest.mark.proves("T86")
def test_a_late_proposal_does_not_evict_a_member_that_was_heard_meanwhile():
    topic = silent("a", "b")
    topic.renew("b")
    assert topic.propose("a", "b").reason is Reason.LEASE_RUNS
    assert topic.order == "ab"


@pytest.mark.proves("T54")
def test_of_two_proposals_for_one_view_the_second_does_nothing():
    topic = silent("a", "b", "c", "d", "e", alive="a")
    epoch = topic.state.view.epoch
    assert topic.propose("a", "d", base=epoch).accepted
    before = but_for_the_record(topic.state)
    assert topic.propose("a", "e", base=epoch).reason is Reason.OUTDATED
    assert topic.repeat(2).reason is Reason.DUPLICATE
    assert but_for_the_record(topic.state) == before


def test_all_that_a_proposal_names_are_evicted_or_none():
    topic = silent("a", "b", "c", "d", "e", alive="a")
    topic.renew("b")
    assert topic.propose("a", "c", "b").reason is Reason.LEASE_RUNS
    assert topic.propose("a", "c", "nobody").reason is Reason.NOT_A_MEMBER
    assert topic.order == "abcde"
    assert topic.propose("a", "c", "d").accepted
    assert topic.order == "abe"


def test_a_member_that_proposes_itself_was_just_heard():
    topic = silent("a", "b")
    assert topic.propose("b", "b").reason is Reason.LEASE_RUNS


@pytest.mark.proves("T87")
def test_an_outage_of_the_log_evicts_no_one():
    """An outage of an hour costs every member a gap of its lease, no more."""
    topic = Topic("a", "b", "c")
    topic.time_ms += 3_600_000
    assert topic.propose("a", "b", "c").reason is Reason.LEASE_RUNS
    assert topic.state.clock.now_ms - topic.member("b").heard_ms <= GAP_MS + 3


@pytest.mark.proves("T87")
def test_a_jump_of_the_clock_evicts_no_one():
    topic = Topic("a", "b")
    for jump_ms in (600_000, -600_000, 200_000):
        topic.renew("b")
        topic.time_ms += jump_ms
        topic.renew("a")
        assert topic.propose("a", "b").reason is Reason.LEASE_RUNS


@pytest.mark.proves("T88")
@pytest.mark.parametrize(
    ("size", "settings", "allowed"),
    [(2, {}, 1), (3, {}, 1), (4, {}, 1), (5, {}, 2), (9, {}, 4), (2, {"budget_min": 0}, 0), (5, {"budget_min": 4}, 4),
     (9, {"budget_percent": 0}, 1), (9, {"budget_percent": 100}, 8)],
)  # fmt: skip
def test_within_two_leases_less_than_half_of_the_members_may_be_evicted(size: int, settings: dict, allowed: int):
    topic = silent(*"abcdefghi"[:size], **settings)
    dead = list("bcdefghi"[: size - 1])
    if allowed < len(dead):
        assert topic.propose("a", *dead[: allowed + 1]).reason is Reason.OVER_BUDGET
    evicted = [who for who in dead if topic.propose("a", who).accepted]
    assert len(evicted) == allowed, "one by one no more than at once"


@pytest.mark.proves("T88")
def test_the_budget_is_there_again_after_two_leases():
    topic = silent("a", "b", "c", "d", "e")
    assert topic.propose("a", "b", "c").accepted
    topic.passes(2 * LEASE_MS - 500, "a")
    assert topic.propose("a", "d").reason is Reason.OVER_BUDGET
    topic.passes(1_000, "a")
    assert topic.propose("a", "d").accepted


@pytest.mark.proves("T88")
def test_a_longer_lease_counts_also_the_evictions_that_the_shorter_one_no_longer_counted():
    topic = silent("a", "b", "c", "d", "e", "f", "g")
    assert topic.propose("a", "b", "c").accepted
    topic.passes(2 * LEASE_MS, "a")
    assert topic.propose("a", "d").accepted
    topic.configure(replace(topic.settings, lease_ms=10 * LEASE_MS, ack_deadline_ms=10 * LEASE_MS))
    topic.passes(10 * LEASE_MS, "a")
    assert topic.propose("a", "e").reason is Reason.OVER_BUDGET, "3 of 7 are evicted within 20 leases of before"


def test_one_that_leaves_spends_no_budget():
    topic = silent("a", "b", "c")
    topic.leave("b")
    assert topic.propose("a", "c").accepted


def test_a_frozen_cluster_refuses_proposals_but_members_come_and_go():
    topic = silent("a", "b", "c")
    assert topic.command(freeze=True).accepted
    assert topic.propose("a", "b").reason is Reason.FROZEN
    assert topic.join("d").accepted
    assert topic.leave("c").accepted
    assert topic.command(freeze=False).accepted
    assert topic.propose("a", "b").accepted


@pytest.mark.proves("T33")
def test_a_proposal_brings_the_barriers_of_those_that_it_evicts():
    topic = silent("a", "b")
    owed = Barrier(topic="q", log_id="l", offset=7)
    topic.propose("a", "b", barriers=(owed,))
    assert topic.state.view.barriers == (owed,)


@pytest.mark.proves("T35", "T89")
def test_a_member_that_does_not_acknowledge_the_view_by_the_deadline_is_evicted():
    topic = Topic("a", "b", "c")
    topic.settle()
    topic.leave("c")
    topic.ack("a")
    topic.passes(LEASE_MS - 1_000, "a", "b")
    assert topic.propose_mute("a", "b").reason is Reason.ACK_NOT_DUE
    topic.passes(2_000, "a", "b")
    assert topic.propose("a", "b").reason is Reason.LEASE_RUNS, "it is alive"
    assert topic.propose_mute("a", "a").reason is Reason.ACK_NOT_DUE, "it has acknowledged"
    assert topic.propose_mute("a", "b").accepted
    assert topic.order == "a"


@pytest.mark.proves("T35")
@pytest.mark.parametrize("policy", [AckPolicy.WAIT, AckPolicy.PROCEED])
def test_it_is_not_evicted_if_the_settings_say_otherwise(policy: AckPolicy):
    topic = Topic("a", "b", ack_policy=policy)
    topic.passes(2 * LEASE_MS, "a", "b")
    assert topic.propose_mute("a", "b").reason is Reason.ACK_NOT_DUE


def test_the_evidence_that_was_not_named_does_not_count():
    topic = Topic("a", "b")
    topic.ack("a")
    topic.ack("b")
    topic.passes(LEASE_MS + 500, "a")
    assert topic.propose("a", "b", evidence=Evidence.NO_ACK).reason is Reason.ACK_NOT_DUE
    assert topic.propose("a", "b").accepted


def test_a_new_instance_evicts_a_cluster_of_dead_members_as_the_budget_allows():
    """All five processes died, and one comes up under a new id."""
    topic = Topic("a", "b", "c", "d", "e")
    topic.join("f")
    topic.passes(LEASE_MS, "f")
    assert topic.propose("f", "a", "b").accepted
    assert topic.leader == "c", "also a dead member leads, until it is evicted"
    topic.passes(2 * LEASE_MS, "f")
    assert topic.propose("f", "c").accepted
    assert topic.propose("f", "d").reason is Reason.OVER_BUDGET
    topic.passes(2 * LEASE_MS, "f")
    assert topic.propose("f", "d").accepted
    topic.passes(2 * LEASE_MS, "f")
    assert topic.propose("f", "e").accepted
    assert (topic.order, topic.leader) == ("f", "f")
