"""For whose eviction the log has evidence."""

from collections.abc import Callable

import pytest

from callboard.actors.topology.member.suspects import suspects
from callboard.messages.topology.cluster_state import EMPTY, AckPolicy
from callboard.messages.topology.control_messages import Evidence
from tests.unit.actors.topology.control_topic import LEASE_MS, Topic

LONG_MS = LEASE_MS + 500
"""A lease, and the record that shows that it is over."""


def settled(joined: str = "abcde") -> Topic:
    topic = Topic(*joined, ack_policy=AckPolicy.EVICT)
    topic.settle()
    return topic


def silent(who: str) -> Callable[[Topic], None]:
    return lambda topic: topic.passes(LONG_MS, *(set("abcde") - set(who)))


def mute(topic: Topic) -> None:
    topic.leave("e")
    for who in "abc":
        topic.ack(who)
    topic.passes(LONG_MS, *"abcd")


def mute_and_silent(topic: Topic) -> None:
    mute(topic)
    topic.passes(LONG_MS, *"abd")


def frozen(topic: Topic) -> None:
    silent("b")(topic)
    topic.command(freeze=True)


def evicted_before(topic: Topic) -> None:
    silent("bc")(topic)
    topic.propose("a", "b")
    topic.passes(LEASE_MS // 2, *"ade")


@pytest.mark.parametrize(
    ("happened", "evidence", "targets"),
    [
        pytest.param(lambda topic: None, Evidence.SILENT, "", id="nothing"),
        pytest.param(silent("b"), Evidence.SILENT, "b", id="one is silent"),
        pytest.param(silent("a"), Evidence.SILENT, "", id="not oneself"),
        pytest.param(silent("bcd"), Evidence.SILENT, "bc", id="more are silent than the budget allows"),
        pytest.param(evicted_before, Evidence.SILENT, "c", id="one of the budget is spent"),
        pytest.param(mute, Evidence.NO_ACK, "d", id="one does not acknowledge"),
        pytest.param(mute_and_silent, Evidence.SILENT, "c", id="silent ones come first"),
        pytest.param(frozen, Evidence.SILENT, "", id="the cluster is frozen"),
    ],
)
def test_those_with_evidence_against_them_are_proposed(
    happened: Callable[[Topic], None], evidence: Evidence, targets: str
) -> None:
    topic = settled()
    happened(topic)

    found = suspects(topic.state, "a")

    assert found == (evidence, tuple(targets))
    if targets:
        assert topic.propose("a", *targets, evidence=evidence).accepted


def test_no_one_is_proposed_before_there_is_a_cluster() -> None:
    assert suspects(EMPTY, "a") == (Evidence.SILENT, ())


@pytest.mark.parametrize("policy", [AckPolicy.WAIT, AckPolicy.PROCEED])
def test_where_the_settings_do_not_evict_a_mute_member_stays(policy: AckPolicy) -> None:
    topic = Topic("a", "b", ack_policy=policy)
    topic.ack("a")
    topic.passes(LONG_MS, "a", "b")

    assert suspects(topic.state, "a")[1] == ()
