import pytest

from callboard.actors.core.claims import LEASE_S_MAX, LEASE_S_MIN, NameHolder, Word
from callboard.messages.distribution.topic_messages import State
from callboard.messages.headers import new_record
from callboard.messages.record import NewRecord, Record
from callboard.messages.repeated import repeated
from callboard.testing.drivers.subscriber_example import NAME, announcement, as_read, garbage


def said(offset: int, instance: str, at_s: float, state: State = State.IDLE, **others: int) -> Record:
    message = announcement(instance, state=state, **others)
    new = new_record(message, record_id=str(offset), time_ns=1, producer=instance)
    return as_read(new, offset, time_ns=int(at_s * 1e9))


def held_by(*records: Record) -> str:
    found = NameHolder(NAME).fold(records)
    return found.said.subscriber_instance if found else ""


def test_of_two_instances_started_together_the_first_on_the_log_gets_the_name() -> None:
    assert held_by(said(1, "a", 0), said(2, "b", 0)) == "a"


def test_a_later_instance_does_not_get_a_held_name_however_often_it_tries() -> None:
    assert held_by(said(1, "a", 0), *(said(n, "b", n) for n in range(2, 20))) == "a"


def test_claims_refused_meanwhile_do_not_keep_out_a_restarted_holder() -> None:
    assert held_by(said(1, "a", 0), said(2, "b", 5), said(3, "a", 10)) == "a"


def test_an_instance_that_said_goodbye_is_replaced_at_once() -> None:
    assert held_by(said(1, "a", 0), said(2, "a", 1, State.STOPPED), said(3, "b", 2)) == "b"


def lent(offset: int, instance: str, over: int = -1, at_s: float = 0, term: int = -1) -> Record:
    return said(offset, instance, at_s, lease_ms=30_000, takes_over=over, term=term)


@pytest.mark.parametrize("at_s", [1, 45, 86_400, -3600])
def test_a_held_name_is_not_taken_over_by_the_time_of_a_record(at_s: float) -> None:
    assert held_by(lent(1, "a", at_s=7), lent(2, "b", at_s=at_s), lent(3, "b", at_s=2 * at_s)) == "a"


def test_a_claim_that_names_the_holders_last_announcement_takes_over() -> None:
    assert held_by(lent(1, "a"), lent(2, "a"), lent(3, "b"), lent(4, "b", over=2)) == "b"
    assert held_by(lent(1, "a"), lent(2, "b", over=1), lent(3, "a")) == "b", "the former holder is too late"


def test_an_announcement_of_the_holder_before_a_takeover_makes_it_void() -> None:
    assert held_by(lent(1, "a"), lent(2, "a"), lent(3, "b", over=1)) == "a"


def test_of_two_takeovers_the_first_gets_the_name() -> None:
    assert held_by(lent(1, "a"), lent(2, "b", over=1), lent(3, "c", over=1)) == "b"


def test_an_older_version_takes_over_by_the_times_of_records() -> None:
    assert held_by(said(1, "a", 0), said(2, "b", 31)) == "b"
    assert held_by(lent(1, "a"), said(2, "b", 30)) == "a"
    assert held_by(lent(1, "a"), said(2, "b", 31), lent(3, "a", at_s=32, term=1)) == "b"
    assert held_by(said(1, "a", 0), lent(2, "b", at_s=31)) == "a", "a new version must watch the lease"


def test_a_lease_has_a_minimum_and_a_maximum() -> None:
    assert Word.of(announcement(lease_ms=10**12), 1, 0).duration_s == LEASE_S_MAX
    assert Word.of(announcement(announce_interval_ms=10**12), 1, 0).duration_s <= LEASE_S_MAX
    assert Word.of(announcement(lease_ms=-1), 1, 0).duration_s == LEASE_S_MIN


def test_a_dead_instance_of_an_older_version_is_replaced_when_its_claim_expires() -> None:
    assert held_by(said(1, "a", 0), said(2, "b", 30)) == "a"
    assert held_by(said(1, "a", 0), said(2, "b", 30.1)) == "b"


def test_an_instance_replaced_while_suspended_does_not_get_its_name_back() -> None:
    assert held_by(said(1, "a", 0), said(2, "b", 40), said(3, "a", 41)) == "b"


def test_a_goodbye_after_a_refused_claim_does_not_free_the_name() -> None:
    assert held_by(said(1, "a", 0), said(2, "b", 1), said(3, "b", 2, State.STOPPED), said(4, "c", 3)) == "a"


def test_records_of_other_subscribers_and_undecodable_records_are_ignored() -> None:
    assert held_by(garbage(1), NewRecord(payload=b"\xff", headers=(("type", "1"),)).at(2, 0)) == ""
    assert NameHolder("edge-2").fold([said(1, "a", 0)]) is None


def test_a_repeated_announcement_keeps_the_age_of_its_claim() -> None:
    again = repeated(said(1, "a", 80), 5).at(5, 100 * 10**9)
    assert held_by(again, said(6, "b", 110)) == "a"
    assert held_by(again, said(6, "b", 110.5)) == "b"
    assert held_by(said(4, "b", 90), again, said(6, "c", 110)) == "a", "b came too early"


def test_a_topic_without_its_beginning_shows_the_same_holder() -> None:
    holder = repeated(lent(3, "a", term=1), 30).at(30, 0)
    refused = repeated(lent(4, "v"), 30).at(31, 0)
    assert held_by(lent(20, "v"), holder, refused) == "a", "v was refused"
    assert held_by(holder, repeated(lent(5, "b", over=3), 30).at(31, 0), lent(32, "a", term=1)) == "b", "it took over"
    assert held_by(refused, lent(32, "a", term=1)) == "a"
    assert held_by(lent(20, "b", over=3), lent(21, "b", over=3, term=20), holder) == "b", "it has taken over since"
    left = said(21, "b", 0, State.STOPPED, lease_ms=30_000, term=20)
    assert held_by(lent(20, "b"), left, holder) == "", "it is free"
    refused_too = said(21, "v", 0, State.STOPPED, lease_ms=30_000)
    assert held_by(lent(20, "v"), refused_too, lent(22, "c")) == "c"
    assert held_by(lent(20, "v"), refused_too, lent(22, "a", term=1), lent(23, "c")) == "a"
    assert held_by(lent(20, "v", over=2), lent(21, "a", term=1)) == "a", "the last holder keeps it"
