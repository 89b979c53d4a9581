"""A standby waits for each that may have the name, by what is left of the announcements."""

import pytest

from callboard.actors.core.effects import Append
from callboard.messages.distribution.mailbox import Admitted
from callboard.messages.repeated import repeated
from callboard.testing.drivers.announcer_driver import AnnouncerDriver


@pytest.mark.parametrize("repeated_first", [True, False])
def test_a_name_is_not_taken_over_beside_one_that_may_have_it_and_started_again(repeated_first: bool) -> None:
    """All that is left of its predecessors is the last word of one that had the name before it, for a short lease."""
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


def test_of_three_that_may_have_the_name_all_must_be_silent_for_the_longest_lease_and_the_last_is_named() -> None:
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


def test_a_claim_that_is_looked_up_after_its_lease_does_not_get_a_name_whose_holder_is_gone_from_the_topic() -> None:
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
