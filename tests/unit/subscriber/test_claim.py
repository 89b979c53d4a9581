from callboard.actors.subscriber.claim import Holder
from callboard.messages.distribution import DiscoveryMessage, State
from callboard.messages.headers import new_record
from callboard.messages.record import NewRecord, Record
from callboard.messages.repeated import repeated
from callboard.testing.subscriber_example import NAME, announcement, as_read, garbage


def said(offset: int, instance: str, at_s: float, state: State = State.IDLE) -> Record:
    message = announcement(instance, state=state)
    new = new_record(message, record_id=str(offset), time_ns=1, producer=instance)
    return as_read(new, offset, time_ns=int(at_s * 1e9))


def held_by(*records: Record) -> str:
    found: DiscoveryMessage | None = Holder(NAME, ttl_s=30).fold(records)
    return found.subscriber_instance if found else ""


def test_of_two_that_start_at_once_the_first_on_the_log_gets_the_name() -> None:
    assert held_by(said(1, "a", 0), said(2, "b", 0)) == "a"


def test_who_comes_later_gets_nothing_however_often_it_tries() -> None:
    assert held_by(said(1, "a", 0), *(said(n, "b", n) for n in range(2, 20))) == "a"


def test_an_instance_that_starts_again_is_not_kept_out_by_others_that_tried_meanwhile() -> None:
    assert held_by(said(1, "a", 0), said(2, "b", 5), said(3, "a", 10)) == "a"


def test_an_instance_that_said_goodbye_is_replaced_at_once() -> None:
    assert held_by(said(1, "a", 0), said(2, "a", 1, State.STOPPED), said(3, "b", 2)) == "b"


def test_an_instance_that_died_is_replaced_once_its_claim_has_run_out() -> None:
    assert held_by(said(1, "a", 0), said(2, "b", 30)) == "a"
    assert held_by(said(1, "a", 0), said(2, "b", 30.1)) == "b"


def test_a_suspended_instance_that_was_replaced_does_not_get_its_name_back() -> None:
    assert held_by(said(1, "a", 0), said(2, "b", 40), said(3, "a", 41)) == "b"


def test_a_claim_that_was_refused_and_taken_back_gives_nothing() -> None:
    assert held_by(said(1, "a", 0), said(2, "b", 1), said(3, "b", 2, State.STOPPED), said(4, "c", 3)) == "a"


def test_records_of_others_and_those_that_nobody_understands_mean_nothing() -> None:
    assert held_by(garbage(1), NewRecord(payload=b"\xff", headers=(("type", "1"),)).at(2, 0)) == ""
    assert Holder("edge-2", 30).fold([said(1, "a", 0)]) is None


def test_a_word_that_is_repeated_is_as_old_a_claim_as_it_was() -> None:
    again = repeated(said(1, "a", 80), 5).at(5, 100 * 10**9)
    assert held_by(again, said(6, "b", 110)) == "a"
    assert held_by(again, said(6, "b", 110.5)) == "b"
    assert held_by(said(4, "b", 90), again, said(6, "c", 110)) == "b"
