"""The retry of a package that was given up long ago: only if no later package touched its paths."""

import pytest

from callboard.actors.core.effects import LogRead, ReadLog
from callboard.actors.subscriber.effects import ImportPackages, SaveLedger
from callboard.actors.subscriber.quarantine.retry_given_up import RECALL_MAX
from callboard.errors import BlobMissing, CallboardError, OffsetOutOfRange
from callboard.messages.distribution.ledger import GivenUp, Ledger
from callboard.messages.distribution.mailbox import StatusesPending
from callboard.messages.distribution.topic_messages import Kind, RetryCommand, Status
from callboard.messages.record import Record
from callboard.testing.drivers.subscriber_example import LEDGER, LOG, ImporterDriver, command, garbage, package


def about(offset: int, *paths: str, kind: Kind = Kind.DELETE) -> Record:
    return package(offset, kind=kind, paths=paths)


GIVEN_UP = about(10, "/a/b")


def past_10(offset: int = 13, **settings: object) -> ImporterDriver:
    """A subscriber that gave up the package at offset 10, went past it, and gets a command to retry it."""
    lost = (GivenUp(offset=10, publisher="site", package_id="p10"),)
    stored = Ledger(instance="me", subscriber="edge-1", log_id=LOG, positioned=True, offset=offset, given_up=lost)
    it = ImporterDriver(editable=True, **({"max_retries": 0} | settings)).arrive(stored, end=100_000)
    it.order(command(5, retry=RetryCommand(offset=10)), end=100_000)
    it.save_all()
    return it


def reads(it: ImporterDriver, *records: Record, log_id: str = LOG) -> int:
    return it.done(ReadLog, LogRead(log_id, records, records[-1].offset + 1)).start


def answer(it: ImporterDriver) -> tuple[bool, str]:
    it.save_all()
    it.sends_all()
    result = it.results()["c5"]
    return result.accepted, result.reason


@pytest.mark.proves("W18", "W23")
def test_it_is_imported_if_no_later_package_touched_its_paths() -> None:
    it = past_10()
    others = about(11, "/a/c"), about(12, "/a/b", kind=Kind.INVALIDATE), package(13, "other", paths=("/x",))
    assert reads(it, GIVEN_UP, *others) == 10
    assert answer(it) == (True, "")
    assert reads(it, GIVEN_UP) == 10
    assert it.done(ImportPackages).offsets == (10,)
    last = it.sent(StatusesPending)[-1].statuses[-1]
    assert (last.offset, last.status) == (10, Status.IMPORTED)
    assert (it.report().offset, it.report().held) == (13, 0)


@pytest.mark.proves("W18")
@pytest.mark.parametrize("path", ["/a/b", "/a", "/", "/a/b/c"])
def test_it_is_refused_if_a_later_package_touched_its_paths(path: str) -> None:
    it = past_10()
    reads(it, GIVEN_UP, about(11, "/c"), about(12, path))
    touched = "the later offset 12 touched its paths; publish its content again with --full"
    assert answer(it) == (False, f"offset 10 cannot be retried: {touched}")
    assert not it.asks(ReadLog)
    assert it.report().held == 0


def test_everything_up_to_the_position_is_read_before_the_answer_and_no_import_overtakes_it() -> None:
    it = past_10()
    it.read(about(14, "/a/b/c"))
    assert reads(it, GIVEN_UP) == 10
    assert reads(it, about(11, "/c")) == 11
    assert not it.asks(ImportPackages)
    assert reads(it, about(12, "/c"), about(13, "/c"), about(14, "/a/b")) == 12
    assert answer(it)[0]
    reads(it, GIVEN_UP)
    assert it.done(ImportPackages).offsets == (10,)
    it.save_all()
    reads(it, about(14, "/a/b/c"))
    assert it.done(ImportPackages).offsets == (14,)


@pytest.mark.parametrize(
    ("records", "reason"),
    [
        ([about(11, "/c")], "is no longer in the log; publish its content again with --full"),
        ([garbage(10)], "cannot be decoded"),
        ([GIVEN_UP, garbage(11)], "the later offset 11 cannot be read"),
        ([package(10, kind=Kind.TEST)], "it is not for this subscriber"),
    ],
)
def test_a_missing_or_unreadable_package_is_refused(records: list[Record], reason: str) -> None:
    it = past_10()
    reads(it, *records)
    accepted, why = answer(it)
    assert not accepted
    assert reason in why


@pytest.mark.parametrize("error", [OffsetOutOfRange("t", 10, 12, 20), CallboardError("log down")])
def test_a_failing_log_or_one_without_the_package_is_an_answer(error: CallboardError) -> None:
    it = past_10()
    it.fail(ReadLog, error)
    assert not answer(it)[0]


def test_another_log_is_not_read_for_it() -> None:
    it = past_10()
    reads(it, GIVEN_UP, log_id="log-2")
    why = "offset 10 cannot be retried: the package log was replaced; publish its content again with --full"
    assert answer(it) == (False, why)


def test_too_many_later_packages_are_not_read() -> None:
    it = past_10(offset=11 + RECALL_MAX)
    assert not it.asks(ReadLog)
    assert f"more than {RECALL_MAX} packages came after it; publish its content again" in answer(it)[1]


def test_a_package_that_fails_again_is_given_up_again_and_those_waiting_for_it_continue() -> None:
    it = past_10(max_retries=1)
    reads(it, GIVEN_UP, about(11, "/c"), about(12, "/c"), about(13, "/c"))
    it.save_all()
    reads(it, GIVEN_UP)
    it.fail(ImportPackages, BlobMissing("gone"))
    it.read(about(14, "/a/b/c"))
    it.save_all()
    assert it.report().held == 2
    it.tick("retrial")
    it.fail(ImportPackages, BlobMissing("gone"))
    assert it.done(SaveLedger).ledger.outbox[-1].status is Status.REMOVED_FAILED
    reads(it, about(14, "/a/b/c"))
    assert it.done(ImportPackages).offsets == (14,)
    assert it.report().held == 0


def test_a_later_package_that_supersedes_it_is_imported_in_its_place() -> None:
    it = past_10()
    reads(it, GIVEN_UP, about(11, "/c"), about(12, "/c"), about(13, "/c"))
    it.save_all()
    it.read(about(14, "/a/b"))
    done = it.done(ImportPackages)
    assert (done.offsets, done.ledger.held) == ((14,), ())
    reads(it, GIVEN_UP)
    assert not it.asks(ImportPackages)


def test_it_is_still_due_after_the_death_of_the_importer() -> None:
    it = past_10()
    reads(it, GIVEN_UP, about(11, "/c"), about(12, "/c"), about(13, "/c"))
    it.save_all()
    stored = [effect.ledger for effect in it.effects if isinstance(effect, SaveLedger)][-1]
    assert stored.offset > LEDGER.offset
    again = ImporterDriver(max_retries=0).arrive(stored)
    assert reads(again, GIVEN_UP) == 10
    assert again.done(ImportPackages).offsets == (10,)


@pytest.mark.proves("W18", "W23")
def test_an_imported_package_is_refused_with_the_way_to_import_it_again() -> None:
    it = ImporterDriver(editable=True).arrive()
    it.read(package(10))
    assert it.done(ImportPackages).offsets == (10,)
    it.order(command(5, retry=RetryCommand(offset=10)), end=100)
    accepted, reason = answer(it)
    assert (accepted, "callboard log resend 10 --to edge-1" in reason) == (False, True)
    assert not it.asks(ReadLog)
    assert it.report().imported == 1


def test_a_package_that_a_retry_imported_is_not_imported_a_third_time() -> None:
    it = past_10()
    reads(it, GIVEN_UP, about(11, "/c"), about(12, "/c"), about(13, "/c"))
    it.save_all()
    reads(it, GIVEN_UP)
    assert it.done(ImportPackages).ledger.given_up == ()
    it.order(command(6, retry=RetryCommand(offset=10)), end=100_000)
    it.save_all()
    it.sends_all()
    assert not it.results()["c6"].accepted
    assert it.report().imported == 1
