"""On a shortened topic, a standby waits for every instance that may hold the name."""

import pytest

from callboard.actors.core.effects import Append
from callboard.messages.distribution.mailbox import Admitted
from callboard.messages.repeated import repeated
from callboard.testing.drivers.announcer_driver import AnnouncerDriver


@pytest.mark.parametrize("repeated_first", [True, False])
def test_a_name_is_not_taken_from_a_restarted_instance_that_may_hold_it(repeated_first: bool) -> None:
    """Of its predecessors, only the last announcement of a former holder with a short lease is left."""
    it = AnnouncerDriver(standby=True)
    it.others_say("former")
    it.others_say("former", term=1, lease_ms=3_000)
    it.others_say("holder", takes_over=2)
    it.others_say("holder", takes_over=2, term=3)
    former = repeated(it.topic[1], read_to=5)
    if repeated_first:
        it.put(former)
    it.others_say("holder")
    if not repeated_first:
        it.put(former)
    it.trim(5)
    began_s = it.now.mono_s
    it.claim()
    while not it.asks(Append):
        it.look_in_vain()
    it.append()
    it.look()
    assert it.sent(Admitted)
    assert it.now.mono_s > began_s + 30


def test_all_possible_holders_must_be_silent_for_the_longest_lease_and_the_takeover_names_the_last() -> None:
    it = AnnouncerDriver(standby=True)
    it.others_say("removed")
    it.others_say("one", lease_ms=60_000)
    it.others_say("two")
    it.others_say("three", lease_ms=3_000)
    it.trim(2)
    began_s = it.now.mono_s
    it.claim()
    while not it.asks(Append):
        it.look_in_vain()
    assert it.now.mono_s > began_s + 60
    assert it.append().takes_over == 4
    it.look()
    assert it.sent(Admitted)


def test_a_claim_checked_after_its_lease_gets_no_name_whose_holder_is_gone_from_the_topic() -> None:
    it = AnnouncerDriver(standby=True)
    it.others_say("holder")
    it.hear()
    it.append()
    it.others_say("holder", term=1)
    it.pass_time(31)
    it.trim(2)
    it.look()
    it.tick("again")
    it.append()
    it.look()
    assert not it.sent(Admitted)
    it.look_in_vain()
    assert not it.asks(Append), "it stands by"
