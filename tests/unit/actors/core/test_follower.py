from random import Random

import pytest

from callboard.actors.core.decision import After, Done, Effect, Failed, Note, Tick
from callboard.actors.core.effects import FindBounds, LogRead, ReadLog, TopicBounds
from callboard.actors.core.follower import (
    Delivered,
    Follower,
    OutOfRange,
    Positioned,
    Replaced,
    StartPolicy,
    Unavailable,
    from_end,
    from_first,
    from_last,
    from_offset,
)
from callboard.errors import LogReplaced, LogUnavailable, OffsetOutOfRange
from callboard.messages.record import Record

BOUNDS = TopicBounds("L1", 10, 20)
FIND = FindBounds("t")
TIMER = "follow t"


def follower(start: StartPolicy, report: bool = False) -> Follower:
    follower = Follower("t", start, Random(1), report=report, max_records=5, max_bytes=1000, wait_s=9.0)
    assert follower.start() == (FIND,)
    return follower


def read(start: int, wait_s: float = 0.0) -> ReadLog:
    return ReadLog("t", start, 5, 1000, wait_s)


def records(*offsets: int) -> tuple[Record, ...]:
    return tuple(Record(offset=offset, time_ns=0, payload=b"") for offset in offsets)


def delay(effects: tuple[Effect, ...]) -> float:
    (after,) = (effect for effect in effects if isinstance(effect, After))
    assert after.key == TIMER
    return after.seconds


@pytest.mark.proves("F5", "F6")
@pytest.mark.parametrize(
    ("policy", "offset"),
    [
        (from_end(), 20),
        (from_first(), 10),
        (from_last(3), 17),
        (from_last(100), 10),
        (from_offset(12, "L1"), 12),
        (from_offset(20, "L1"), 20),
    ],
)
def test_each_policy_starts_at_its_own_offset(policy: StartPolicy, offset: int) -> None:
    news, effects = follower(policy).handle(Done(FIND, BOUNDS))
    assert news == Positioned(offset, BOUNDS)
    assert effects == (read(offset, wait_s=9.0 if offset == 20 else 0.0),)


def test_it_delivers_in_order_and_waits_only_once_it_has_caught_up() -> None:
    it = follower(from_last(3))
    it.handle(Done(FIND, BOUNDS))
    assert not it.caught_up
    answer = it.handle(Done(read(17), LogRead("L1", records(17, 18), 19)))
    assert answer == (Delivered(17, 19, records(17, 18)), (read(19),))
    assert not it.caught_up
    assert it.handle(Done(read(19), LogRead("L1", records(19), 20)))[1] == (read(20, wait_s=9.0),)
    assert it.caught_up
    assert it.handle(Done(read(20, 9.0), LogRead("L1", (), 20)))[0] == Delivered(20, 20, ())


def test_a_gap_at_the_end_counts_as_caught_up() -> None:
    it = follower(from_offset(18, "L1"))
    it.handle(Done(FIND, BOUNDS))
    it.handle(Done(read(18), LogRead("L1", (), 18)))
    assert it.caught_up


def test_results_that_it_did_not_ask_for_are_ignored() -> None:
    it = follower(from_end())
    it.handle(Done(FIND, BOUNDS))
    for message in (
        Done(FIND, BOUNDS),
        Done(read(3), LogRead("L1", records(3), 4)),
        Failed(read(3), LogUnavailable("down")),
        Tick("other"),
        Tick(TIMER),
    ):
        assert it.handle(message) == (None, ())
    assert it.position == 20


@pytest.mark.proves("F101")
def test_an_unavailable_log_is_retried_with_backoff_from_the_same_offset() -> None:
    it = follower(from_end())
    news, effects = it.handle(Failed(FIND, LogUnavailable("down")))
    assert news == Unavailable("down", 1)
    assert 0.08 <= delay(effects) <= 0.12
    assert it.handle(Tick(TIMER)) == (None, (FIND,))
    it.handle(Done(FIND, BOUNDS))
    news, effects = it.handle(Failed(read(20, 9.0), LogUnavailable("down")))
    assert news == Unavailable("down", 2)
    assert 0.16 <= delay(effects) <= 0.24
    it.handle(Tick(TIMER))
    assert it.handle(Done(FIND, TopicBounds("L1", 10, 25))) == (None, (read(20, 9.0),))
    _, effects = it.handle(Done(read(20, 9.0), LogRead("L1", records(20), 21)))
    assert [effect.event for effect in effects if isinstance(effect, Note)] == ["log.resumed"]


def test_of_two_followers_with_the_same_request_each_takes_its_own_result() -> None:
    one, other = (Follower("t", from_last(3), Random(1), owner=owner) for owner in ("one", "other"))
    (find,), _ = one.start(), other.start()
    assert other.handle(Done(find, BOUNDS)) == (None, ())
    assert one.handle(Done(find, BOUNDS))[0] == Positioned(17, BOUNDS)


def test_the_delay_never_passes_five_seconds() -> None:
    it = follower(from_end())
    delays = []
    for _ in range(20):
        delays.append(delay(it.handle(Failed(FIND, LogUnavailable("down")))[1]))
        it.handle(Tick(TIMER))
    assert max(delays) <= 5.0
    assert min(delays) >= 0.08


def test_a_follower_that_fell_out_of_retention_reports_it_and_skips_ahead() -> None:
    it = follower(from_offset(12, "L1"))
    it.handle(Done(FIND, BOUNDS))
    news, effects = it.handle(Failed(read(12), OffsetOutOfRange("t", 12, 15, 20)))
    assert news is None
    delay(effects)
    it.handle(Tick(TIMER))
    trimmed = TopicBounds("L1", 15, 20)
    assert it.handle(Done(FIND, trimmed)) == (OutOfRange(12, trimmed), (read(15),))


@pytest.mark.proves("F4")
@pytest.mark.parametrize("offset", [9, 21])
def test_a_reporting_follower_that_starts_out_of_range_stops_until_restarted(offset: int) -> None:
    it = follower(from_offset(offset, "L1"), report=True)
    assert it.handle(Done(FIND, BOUNDS)) == (OutOfRange(offset, BOUNDS), ())
    assert it.handle(Tick(TIMER)) == (None, ())
    assert it.start() == (FIND,)
    assert it.handle(Done(FIND, BOUNDS)) == (None, (read(10),))


def test_after_a_read_finds_a_replaced_log_the_start_policy_applies() -> None:
    it = follower(from_last(3))
    it.handle(Done(FIND, BOUNDS))
    news, effects = it.handle(Done(read(17), LogRead("L2", records(17), 18)))
    assert news is None
    delay(effects)
    it.handle(Tick(TIMER))
    replaced = TopicBounds("L2", 0, 8)
    assert it.handle(Done(FIND, replaced)) == (Replaced("L1", replaced), (read(5),))
    assert it.log_id == "L2"
    assert not it.caught_up


def test_a_replaced_log_found_by_its_bounds_stops_a_reporting_follower() -> None:
    it = follower(from_offset(12, "L1"), report=True)
    replaced = TopicBounds("L2", 3, 8)
    assert it.handle(Done(FIND, replaced)) == (Replaced("L1", replaced), ())
    it.start()
    assert it.handle(Done(FIND, replaced)) == (None, (read(3),))


def test_after_a_backend_reports_a_replaced_log_its_bounds_are_read() -> None:
    it = follower(from_first())
    it.handle(Done(FIND, BOUNDS))
    it.handle(Failed(read(10), LogReplaced("another log")))
    assert it.handle(Tick(TIMER)) == (None, (FIND,))


def test_a_replaced_log_whose_bounds_cannot_be_read_is_reported_as_unavailable() -> None:
    it = follower(from_first())
    news, effects = it.handle(Failed(FIND, LogReplaced("stop every process")))
    assert news == Unavailable("stop every process", 1)
    delay(effects)
    assert it.handle(Tick(TIMER)) == (None, (FIND,))
