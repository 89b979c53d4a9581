from dataclasses import replace

import pytest

from callboard.actors.core.decision import Origin, PeerUp, Stopping
from callboard.actors.core.effects import Append, FindBounds, ReadLog, TopicBounds
from callboard.actors.subscriber import roles
from callboard.errors import LogUnavailable
from callboard.messages.distribution.mailbox import Admitted, AgentProblem, AnnouncedQuery, Problem, Report
from callboard.messages.distribution.topic_messages import State
from callboard.testing.drivers.announcer_driver import AnnouncerDriver
from callboard.testing.drivers.subscriber_example import announcement


def test_it_claims_the_name_with_its_first_announcement_and_then_admits_the_importer() -> None:
    it = AnnouncerDriver()
    it.hear()
    said = it.append()
    assert (said.host, said.pid, said.version, said.time_ns) == ("here", 7, "1", it.now.wall_ns)
    assert it.sent(Admitted) == []
    it.look()
    assert len(it.sent(Admitted)) == 1


def test_of_two_at_once_exactly_one_is_admitted_and_the_other_withdraws() -> None:
    one, other = AnnouncerDriver(), AnnouncerDriver()
    other.topic = one.topic
    one.hear(instance="one")
    other.hear(instance="other")
    one.append()
    other.append()
    other.look()
    one.look()
    assert len(one.sent(Admitted)) == 1
    assert other.sent(Admitted) == []
    assert other.append().state is State.STOPPED
    (problem,) = other.sent(AgentProblem)
    assert problem.problem is Problem.SUBSCRIBER_TAKEN
    assert "already runs as instance one on here (process 7)" in problem.reason
    assert "its name is free 30 s after its last announcement" in problem.reason


def test_the_same_instance_is_never_refused() -> None:
    it = AnnouncerDriver()
    it.others_say("me", state=State.IMPORTING)
    it.others_say("stranger")
    it.admitted()


def test_a_dead_instance_is_replaced_when_its_lease_expires() -> None:
    it = AnnouncerDriver()
    it.others_say("dead", state=State.IDLE)
    it.pass_time(31)
    it.claim()
    assert it.sent(Admitted) == [], "the times of records prove nothing"
    while not it.asks(Append):
        it.look_in_vain()
    assert it.now.mono_s > 100 + 31 + 30
    assert it.append().takes_over == 1
    it.look()
    assert it.sent(Admitted)


def test_after_a_failed_search_the_name_is_claimed_again() -> None:
    it = AnnouncerDriver()
    it.hear()
    it.append()
    it.fail(FindBounds, LogUnavailable("down"))
    it.tick("again")
    it.append()
    it.look()
    assert len(it.sent(Admitted)) == 1


def test_the_search_reads_everything_before_the_claim_and_is_bounded() -> None:
    it = AnnouncerDriver()
    it.others_say("holder", state=State.IDLE)
    for _ in range(1200):
        it.others_say("me too")
    it.hear()
    it.append()
    it.look()
    assert it.sent(Admitted) == []
    far = AnnouncerDriver()
    far.hear()
    far.done(Append, (1_000_000,))
    far.done(FindBounds, TopicBounds("d", 5, 1_000_001))
    assert far.asked(ReadLog).start == 5


@pytest.mark.proves("W33")
def test_changes_are_announced_at_most_once_a_second() -> None:
    it = AnnouncerDriver().admitted()
    for offset in range(100):
        it.hear(offset=offset)
        it.pass_time(0.005)
    assert not it.asks(Append)
    it.tick("soon")
    assert it.append().offset == 99
    assert len(it.topic) == 2


def test_it_announces_every_ten_seconds_without_a_change() -> None:
    it = AnnouncerDriver().admitted()
    it.hear()
    assert not it.asks(Append)
    for _ in range(3):
        before = it.now.mono_s
        it.tick("announce")
        assert it.now.mono_s - before == 10
        it.append()


def test_announcements_continue_during_an_append_longer_than_the_interval() -> None:
    it = AnnouncerDriver().admitted()
    it.tick("announce")
    it.pass_time(12)
    it.append()
    it.tick("announce")
    it.append()


def test_announcements_continue_during_a_read_longer_than_the_interval() -> None:
    it = AnnouncerDriver()
    it.hear()
    it.append()
    it.pass_time(12)
    it.tick("announce")
    assert not it.asks(Append), "the first one is still looked for"
    it.look()
    it.append()
    it.look()
    assert len(it.sent(Admitted)) == 2


def test_a_failed_announcement_is_repeated() -> None:
    it = AnnouncerDriver().admitted()
    it.pass_time(2)
    it.hear(offset=5)
    it.fail(Append, LogUnavailable("down"))
    it.tick("again")
    assert it.append().offset == 5


def test_a_change_during_an_announcement_is_announced_after_it() -> None:
    it = AnnouncerDriver().admitted()
    it.tick("announce")
    it.hear(offset=6)
    it.append()
    it.tick("soon")
    assert it.append().offset == 6


def test_an_announcer_that_was_suspended_claims_its_name_again_and_finds_that_it_was_replaced() -> None:
    it = AnnouncerDriver().admitted()
    it.pass_time(35)
    it.others_say("successor", state=State.IDLE, takes_over=1)
    it.pass_time(10)
    it.tick("announce")
    it.append()
    it.look()
    assert it.append().state is State.STOPPED
    assert it.sent(AgentProblem)[0].problem is Problem.SUBSCRIBER_TAKEN


def test_a_suspension_during_an_append_is_noticed_too() -> None:
    it = AnnouncerDriver().admitted()
    it.tick("announce")
    (new,) = it.asked(Append).records
    it.put(new)  # appended, but the process is suspended before it gets the answer
    it.pass_time(35)
    it.others_say("successor", state=State.IDLE, takes_over=2)
    it.done(Append, (2,))
    it.look()
    it.tick("announce")
    it.append()
    it.look()
    assert it.append().state is State.STOPPED


def test_an_announcer_that_was_suspended_and_not_replaced_continues() -> None:
    it = AnnouncerDriver().admitted()
    it.pass_time(35)
    it.tick("announce")
    it.append()
    it.look()
    it.tick("announce")
    it.append()
    assert not it.asks(FindBounds)
    until_ms = [message.until_ms for message in it.sent(Admitted)]
    assert until_ms == [130_000, 165_000, 175_000], "each up to 30 s after the announcement began"


def test_a_new_importer_is_admitted_only_while_the_name_is_held() -> None:
    it = AnnouncerDriver()
    it.feed(PeerUp(roles.IMPORTER))
    assert it.sent(Admitted) == []
    it.admitted()
    it.feed(PeerUp(roles.IMPORTER))
    assert len(it.sent(Admitted)) == 2


def test_it_stops_after_the_goodbye_of_the_importer_in_any_order_of_mail() -> None:
    for goodbye_first in (True, False):
        it = AnnouncerDriver().admitted()
        for step in (goodbye_first, not goodbye_first):
            if step:
                it.hear(state=State.STOPPED)
                assert it.append().state is State.STOPPED
            else:
                it.feed(Stopping())
        assert it.stopped


def test_it_does_not_wait_forever_for_a_dead_importer() -> None:
    it = AnnouncerDriver().admitted()
    it.feed(Stopping())
    assert not it.stopped
    it.tick("goodbye")
    assert it.stopped


def test_it_waits_without_limit_for_the_goodbye_of_an_importer_at_work() -> None:
    it = AnnouncerDriver().admitted()
    it.hear(state=State.IMPORTING)
    it.feed(Stopping())
    for _ in range(5):
        it.tick("goodbye")
    assert not it.stopped
    it.hear(state=State.STOPPED)
    it.tick("soon")
    assert it.append().state is State.STOPPED
    assert it.stopped


def test_an_announcer_that_announced_nothing_sends_no_goodbye() -> None:
    it = AnnouncerDriver()
    it.feed(Stopping())
    assert it.stopped


def test_reports_after_a_refusal_are_not_announced() -> None:
    it = AnnouncerDriver()
    it.others_say("holder")
    it.hear()
    it.append()
    it.look()
    it.feed(Report(announcement=replace(announcement(), state=State.IDLE)))
    assert it.append().state is State.STOPPED


def test_an_announcement_that_is_asked_for_is_not_delayed_by_the_rate_limit() -> None:
    it = AnnouncerDriver().admitted()
    it.hear(offset=41)
    assert not it.asks(Append)
    it.feed(AnnouncedQuery(offset=41), Origin("gateway", 7))
    assert it.append().offset == 41
    assert it.replies() == [(Origin("gateway", 7), Admitted())]


def test_a_question_before_the_report_is_answered_when_it_is_announced() -> None:
    it = AnnouncerDriver().admitted()
    it.feed(AnnouncedQuery(offset=41), Origin("gateway", 7))
    assert it.replies() == []
    it.hear(offset=41)
    it.append()
    assert it.replies() == [(Origin("gateway", 7), Admitted())]


def test_a_question_does_not_repeat_an_announcement() -> None:
    it = AnnouncerDriver().admitted()
    it.feed(AnnouncedQuery(offset=announcement().offset), Origin("gateway", 7))
    assert not it.asks(Append)
    assert it.replies() == [(Origin("gateway", 7), Admitted())]
