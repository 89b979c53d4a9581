"""When the proposer proposes."""

from dataclasses import replace
from random import Random
from typing import Any

import pytest

from callboard.actors.core.decision import Done, Send, Stopping
from callboard.actors.core.effects import FindBounds, TopicBounds
from callboard.actors.topology.member.proposer import PROPOSE, Proposer
from callboard.actors.topology.member.roles import RENEWER
from callboard.actors.topology.member.settings import MemberSettings
from callboard.errors import LogUnavailable
from callboard.messages.topology.cluster_state import Barrier, ClusterSettings
from callboard.messages.topology.control_messages import Evidence, ProposeMessage
from callboard.messages.topology.member_mail import ClusterNews
from callboard.testing.drivers.decision_driver import DecisionDriver
from tests.unit.actors.topology.control_topic import LEASE_MS, Topic

LONG_MS = LEASE_MS + 500
"""A lease, and the record that shows that it is over."""

SETTINGS = MemberSettings("t", "a", "a1", ClusterSettings(cluster_id="c"))
STANDS = {"standing_until_ms": 10**9}


def proposer(instance: str = "a", **settings: Any) -> DecisionDriver:
    its = replace(SETTINGS, instance=instance, incarnation=f"{instance}1", **settings)
    return DecisionDriver(Proposer(its, Random(1)))


def news(topic: Topic, **told: Any) -> ClusterNews:
    return ClusterNews(version=1, log_id="log", state=topic.state, **STANDS | told)


def with_silent(who: str, members: str = "abcde") -> Topic:
    topic = Topic(*members)
    topic.settle()
    topic.passes(LONG_MS, *(set(members) - set(who)))
    return topic


@pytest.mark.parametrize(("instance", "silent", "delay_s"), [("a", "e", 0), ("c", "e", 0.4), ("c", "a", 0.2)])
def test_each_member_waits_for_those_before_it_that_are_not_suspected(
    instance: str, silent: str, delay_s: float
) -> None:
    driver = proposer(instance)
    before_s = driver.now.mono_s

    driver.feed(news(with_silent(silent)))

    assert driver.timers[PROPOSE] == pytest.approx(before_s + delay_s)


def test_it_proposes_on_the_evidence_of_the_last_state() -> None:
    driver, topic = proposer(), with_silent("de")
    driver.feed(news(topic))
    topic.renew("e")
    driver.feed(news(topic))

    effects = driver.tick(PROPOSE)

    (sent,) = [effect for effect in effects if isinstance(effect, Send)]
    assert sent.role == RENEWER
    said = ProposeMessage(**SETTINGS.by(), base_epoch=topic.state.view.epoch, remove=("d",), evidence=Evidence.SILENT)
    assert sent.event == said


def test_it_stops_waiting_when_another_has_proposed() -> None:
    driver, topic = proposer("b"), with_silent("e")
    driver.feed(news(topic))
    assert topic.propose("a", "e").accepted

    driver.feed(news(topic))

    assert PROPOSE not in driver.timers


@pytest.mark.parametrize("told", [{"standing_until_ms": 0}, {"standing_until_ms": 1}, {"lag_ms": 3_001}])
def test_it_proposes_nothing_without_standing_or_when_it_reads_late(told: dict[str, int]) -> None:
    driver, topic = proposer(), with_silent("e")
    driver.feed(news(topic, **told))
    driver.tick(PROPOSE)
    assert not driver.sent(ProposeMessage)

    driver.feed(news(topic))
    driver.tick(PROPOSE)

    assert driver.sent(ProposeMessage)


def test_it_tries_again_as_long_as_there_is_evidence() -> None:
    driver = proposer()
    driver.feed(news(with_silent("e")))

    for _ in range(3):
        driver.tick(PROPOSE)

    assert len(driver.sent(ProposeMessage)) == 3


def test_it_reads_the_ends_of_the_streams_first() -> None:
    driver = proposer(streams=("s",))
    driver.feed(news(with_silent("e")))
    driver.tick(PROPOSE)
    assert not driver.sent(ProposeMessage)
    driver.fail(FindBounds, LogUnavailable("away"))
    driver.tick(PROPOSE)
    slow = driver.asked(FindBounds)
    driver.tick(PROPOSE)

    driver.open.remove(slow)
    driver.feed(Done(slow, TopicBounds("log-s", 1, 33)))
    assert not driver.sent(ProposeMessage), "this end was read before"
    driver.done(FindBounds, TopicBounds("log-s", 1, 44))

    (said,) = driver.sent(ProposeMessage)
    assert said.barriers == (Barrier(topic="s", log_id="log-s", offset=44),)


def test_it_stops_at_once() -> None:
    driver = proposer()

    driver.feed(Stopping())

    assert driver.stopped
