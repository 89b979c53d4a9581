"""The rules for commands to the cluster, and for its settings."""

from dataclasses import replace
from typing import Any

import pytest

from callboard.actors.topology.administration import PROTOCOL
from callboard.actors.topology.verdict import Reason
from callboard.messages.topology.cluster_state import Barrier, ClusterSettings
from callboard.messages.topology.control_messages import EvictCommand
from callboard.testing.simulation.topology.oracle import but_for_the_record
from tests.unit.actors.topology.control_topic import LEASE_MS, Topic


def test_a_command_evicts_without_evidence_or_budget():
    topic = Topic("a", "b", "c", budget_min=0)
    owed = Barrier(topic="q", log_id="l", offset=7)
    assert topic.command(evict=EvictCommand(target="a", barriers=(owed,))).accepted
    assert (topic.order, topic.leader) == ("bc", "b")
    assert topic.state.view.barriers == (owed,)
    assert topic.renew("a").reason is Reason.NOT_A_MEMBER


@pytest.mark.proves("T52")
def test_a_transfer_makes_another_member_the_leader_until_it_leaves():
    topic = Topic("a", "b", "c")
    assert topic.command(transfer="c").accepted
    assert (topic.order, topic.leader, topic.state.view.leader_epoch) == ("abc", "c", topic.state.offset)
    assert topic.state.view.epoch == topic.state.offset, "another leader is another view"
    topic.leave("a")
    topic.join("d", priority=-1)
    assert topic.leader == "c"


def test_a_draining_leader_is_replaced_by_a_member_that_is_not_draining():
    topic = Topic("a", "b", "c")
    assert topic.command(drain="b").accepted
    assert topic.state.view.epoch < topic.state.offset, "members and leader are the same"
    assert topic.command(drain="a").accepted
    assert (topic.order, topic.leader, topic.state.view.epoch) == ("abc", "c", topic.state.offset)
    assert topic.command(transfer="a").reason is Reason.DRAINING
    assert topic.undrain("a").accepted
    assert topic.leader == "c", "the leader stays"
    assert topic.command(transfer="a").accepted


def test_while_all_are_draining_the_leader_stays_until_there_is_another():
    topic = Topic("a", "b")
    topic.command(drain="b")
    topic.command(drain="a")
    assert topic.leader == "a"
    topic.leave("a")
    assert topic.leader == "b"
    topic.join("c")
    assert topic.leader == "c"


def test_a_restart_ends_draining():
    topic = Topic("a", "b")
    topic.command(drain="b")
    topic.restart("b")
    assert not topic.member("b").draining


@pytest.mark.parametrize(
    "command", [{"transfer": "a"}, {"freeze": False}], ids=["it leads already", "it is not frozen"]
)
def test_a_command_for_what_is_so_already_changes_nothing(command: dict[str, Any]):
    topic = Topic("a", "b")
    before = but_for_the_record(topic.state)
    assert topic.command(**command).reason is Reason.UNCHANGED
    assert but_for_the_record(topic.state) == before


@pytest.mark.parametrize("name", ["evict", "drain", "transfer"])
def test_a_command_about_no_member_changes_nothing(name: str):
    topic = Topic("a")
    assert topic.command(**{name: "nobody"}).reason is Reason.NOT_A_MEMBER


def test_a_member_cannot_drain_twice():
    topic = Topic("a", "b")
    topic.command(drain="b")
    assert topic.command(drain="b").reason is Reason.UNCHANGED


@pytest.mark.parametrize("meanwhile", ["a view", "a command"])
def test_a_command_is_void_if_anything_changed_since_its_author_looked(meanwhile: str):
    topic = Topic("a", "b", "c")
    seen = topic.state.changed
    if meanwhile == "a view":
        topic.leave("c")
    else:
        topic.command(drain="c")
    assert topic.command(base=seen, evict="b").reason is Reason.OUTDATED
    assert topic.order.startswith("ab")


def test_a_command_that_comes_twice_is_carried_out_once():
    topic = Topic("a", "b")
    topic.command(freeze=True)
    topic.command(freeze=False)
    assert topic.repeat(2).reason is Reason.OUTDATED
    assert not topic.state.frozen


@pytest.mark.proves("T6")
def test_the_first_settings_found_the_cluster_and_its_id_stays():
    topic = Topic(founded=False)
    assert topic.command(freeze=True).reason is Reason.NOT_FOUNDED
    assert topic.configure(topic.settings).accepted
    assert topic.repeat().reason is Reason.OUTDATED
    assert topic.configure(replace(topic.settings, cluster_id="d")).reason is Reason.WRONG_CLUSTER
    assert topic.configure(replace(topic.settings, lease_ms=9_000, gap_ms=4_000, ack_deadline_ms=9_000)).accepted
    assert topic.state.settings == ClusterSettings(cluster_id="c", lease_ms=9_000, gap_ms=4_000, ack_deadline_ms=9_000)


def test_a_shorter_lease_does_not_shorten_what_is_leased():
    """A member that has not read the new settings counts on the lease that it knows."""
    topic = Topic("a", "b")
    topic.passes(3_000, "a")
    topic.configure(replace(topic.settings, lease_ms=2_000, gap_ms=1_000))
    topic.passes(LEASE_MS - 4_000, "a")
    assert topic.propose("a", "b").reason is Reason.LEASE_RUNS
    topic.passes(1_500, "a")
    assert topic.propose("a", "b").accepted
    topic.join("c")
    topic.passes(2_000, "a")
    topic.passes(2 * 2_000, "a")  # until the budget is there again
    assert topic.propose("a", "c").accepted, "from now on the shorter one counts"


def test_a_shorter_deadline_for_acknowledgements_evicts_no_member_that_may_count_on_a_longer_lease():
    """It may not have read the new settings, nor the view that it should acknowledge, and lead by the former one."""
    topic = Topic("a", "b", "c")
    topic.settle()
    topic.passes(1_000, "a", "b")
    topic.configure(replace(topic.settings, lease_ms=2_000, gap_ms=1_000, ack_deadline_ms=2_000))
    topic.leave("c")
    topic.ack("a")
    topic.passes(LEASE_MS - 1_000, "a", "b")
    assert topic.propose_mute("a", "b").reason is Reason.ACK_NOT_DUE
    topic.passes(1_500, "a", "b")
    assert topic.propose_mute("a", "b").accepted


def test_a_renewal_after_the_change_keeps_the_longer_lease_of_the_one_before_it():
    topic = Topic("a", "b")
    topic.configure(replace(topic.settings, lease_ms=2_000, gap_ms=1_000))
    topic.renew("b")
    topic.passes(LEASE_MS - 2_000, "a")
    assert topic.propose("a", "b").reason is Reason.LEASE_RUNS


def test_the_cluster_takes_no_protocol_that_a_member_does_not_speak():
    topic = Topic("a")
    assert topic.configure(replace(topic.settings, protocol=2)).reason is Reason.INCOMPATIBLE


def test_a_reader_that_does_not_know_the_protocol_stops_there():
    topic = Topic()
    topic.join("a", protocol=PROTOCOL + 1)
    assert topic.configure(replace(topic.settings, protocol=PROTOCOL + 1)).accepted
    stopped = topic.state
    assert stopped.stopped == stopped.offset
    assert topic.renew("a").reason is Reason.STOPPED
    assert topic.state == stopped
