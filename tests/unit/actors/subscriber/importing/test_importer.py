import pytest

from callboard.actors.core.decision import Origin, PeerUp, Stopping
from callboard.actors.core.effects import FindBounds
from callboard.actors.subscriber import roles
from callboard.actors.subscriber.effects import ImportPackages, OpenRepository, SaveLedger
from callboard.errors import (
    BlobMissing,
    BlobUnavailable,
    CallboardError,
    LeaderReplaced,
    PackageCorrupt,
    RepositoryUnavailable,
)
from callboard.messages.distribution.mailbox import CaughtUpQuery, PackagesWanted, Report, StatusesPending, StatusesSent
from callboard.messages.distribution.topic_messages import Kind, State, Status
from callboard.testing.drivers.subscriber_example import LEDGER, ImporterDriver, clear, garbage, package

OOPS = BlobMissing("not there yet")


def importing(**settings: object) -> ImporterDriver:
    it = ImporterDriver(**settings).arrive()
    it.read(package(10))
    return it


def test_packages_are_imported_in_order_one_at_a_time() -> None:
    it = ImporterDriver().arrive()
    it.read(package(10), package(13))
    first = it.asked(ImportPackages)
    assert (first.offset, first.ledger.offset, first.ledger.imported) == (10, 10, 1)
    it.done(ImportPackages)
    assert it.asked(ImportPackages).offset == 13
    it.done(ImportPackages)
    assert it.report().offset == 13
    assert it.state()[0] is State.IDLE


def test_an_attempt_is_stored_in_the_ledger_before_it_begins() -> None:
    it = importing()
    for attempt in (1, 2, 3):
        tried = it.fail(ImportPackages, OOPS).attempt
        assert (tried.attempt_offset, tried.attempts) == (10, attempt)
        it.tick("retry")


@pytest.mark.proves("F79")
def test_a_failed_package_is_retried_with_backoff() -> None:
    it = importing()
    waits = []
    for _ in range(12):
        it.fail(ImportPackages, OOPS)
        assert not it.asks(ImportPackages)
        waits.append(it.timers["retry"] - it.now.mono_s)
        it.tick("retry")
    assert 0.8 <= waits[0] <= 1.2
    assert 1.6 <= waits[1] <= 2.4
    assert 200 <= waits[-1] <= 300
    it.fail(ImportPackages, OOPS)
    assert it.state() == (State.RETRYING, "attempt 13 failed: not there yet")
    assert it.report().next_try_ns > it.now.wall_ns


def test_attempts_start_over_after_a_success() -> None:
    it = importing(max_retries=3)
    it.fail(ImportPackages, OOPS)
    it.tick("retry")
    assert it.done(ImportPackages).ledger.attempts == 0
    it.read(package(11))
    assert it.asked(ImportPackages).attempt.attempts == 1


@pytest.mark.proves("F81", "W4")
def test_attempts_start_over_after_giving_up() -> None:
    it = importing(max_retries=3)
    for _ in range(3):
        it.fail(ImportPackages, OOPS)
        it.tick("retry")
    it.fail(ImportPackages, OOPS)
    (given_up,) = it.save_all()
    assert given_up.durable
    assert (given_up.ledger.offset, given_up.ledger.attempts) == (10, 0)
    (status,) = given_up.ledger.outbox
    assert (status.status, status.reason, status.attempts) == (Status.REMOVED_FAILED, "not there yet", 4)
    it.read(package(11))
    for _ in range(2):
        it.fail(ImportPackages, OOPS)
        assert it.state()[0] is State.RETRYING
        it.tick("retry")
    assert it.done(ImportPackages).ledger.imported == 1


@pytest.mark.proves("W5")
def test_a_package_that_kills_its_importer_is_given_up_after_all_its_attempts() -> None:
    stored = LEDGER
    for attempt in (1, 2, 3):
        it = ImporterDriver(max_retries=2).arrive(stored)
        it.read(package(10))
        stored = it.asked(ImportPackages).attempt  # it is stored, and then the importer dies
        assert stored.attempts == attempt
    it = ImporterDriver(max_retries=2).arrive(stored)
    it.read(package(10), package(11))
    assert it.asked(ImportPackages).offset == 11
    (status,) = it.asked(ImportPackages).attempt.outbox
    assert (status.offset, status.status) == (10, Status.REMOVED_FAILED)
    assert status.reason == "the importer died in attempt 3"


@pytest.mark.proves("F80")
def test_without_a_limit_nothing_is_given_up() -> None:
    it = importing(max_retries=-1)
    for _ in range(50):
        it.fail(ImportPackages, OOPS)
        it.tick("retry")
    assert it.asked(ImportPackages).offset == 10


@pytest.mark.proves("W1")
def test_an_undecodable_package_blocks_and_is_never_skipped() -> None:
    it = ImporterDriver(max_retries=0).arrive()
    it.read(garbage(10), package(11))
    for _ in range(5):
        assert it.state()[0] is State.BLOCKED
        assert "offset 10 cannot be decoded" in it.state()[1]
        it.tick("retry")
    assert not it.asks(ImportPackages)
    assert it.report().offset == 9


@pytest.mark.proves("W1")
def test_a_corrupt_package_blocks_until_it_is_repaired_whatever_the_limit_of_retries() -> None:
    it = importing(max_retries=0)
    for _ in range(5):
        it.fail(ImportPackages, PackageCorrupt("wrong digest; restore it"))
        assert it.state() == (State.BLOCKED, "wrong digest; restore it")
        it.tick("retry")
    it.done(ImportPackages)
    assert it.state()[0] is State.IDLE


def test_by_policy_an_undecodable_package_is_a_dead_letter_with_a_status() -> None:
    it = ImporterDriver(on_undecodable="dead_letter").arrive()
    it.read(garbage(10))
    (saved,) = it.save_all()
    (status,) = saved.ledger.outbox
    assert (status.offset, status.status) == (10, Status.REMOVED_FAILED)
    assert "cannot be decoded" in status.reason


def test_by_policy_a_corrupt_package_is_a_dead_letter_at_once() -> None:
    it = importing(on_undecodable="dead_letter", max_retries=5)
    it.fail(ImportPackages, PackageCorrupt("wrong digest"))
    (saved,) = it.save_all()
    assert saved.ledger.outbox[0].reason == "wrong digest"


def test_an_unavailable_blob_store_does_not_count_against_the_package() -> None:
    it = importing(max_retries=0)
    for _ in range(5):
        it.fail(ImportPackages, BlobUnavailable("the store is down"))
        assert it.state() == (State.WAITING, "the store is down")
        it.tick("retry")
        assert it.asked(ImportPackages).attempt.attempts == 1
    it.done(ImportPackages)
    assert it.state()[0] is State.IDLE


@pytest.mark.parametrize("error", [RepositoryUnavailable, LeaderReplaced])
def test_a_repository_that_cannot_be_written_does_not_count_against_the_package(error: type[CallboardError]) -> None:
    it = importing(max_retries=0)
    for _ in range(5):
        it.fail(ImportPackages, error("disk full"))
        it.done(OpenRepository, LEDGER)
        assert len(it.save_all()) == 1  # to find out whether it can be written
        assert it.state() == (State.WAITING, "disk full")
        it.tick("retry")
        assert it.asked(ImportPackages).attempt.attempts == 1
    it.done(ImportPackages)
    assert it.state()[0] is State.IDLE


@pytest.mark.parametrize("committed", [True, False])
def test_after_a_repository_error_its_ledger_says_whether_the_import_was_committed(committed: bool) -> None:
    it = importing(editable=True)
    tried = it.fail(ImportPackages, RepositoryUnavailable("disk gone"))
    it.done(OpenRepository, tried.ledger if committed else tried.attempt)
    it.save_all()
    assert it.report().offset == (10 if committed else 9)
    assert len(it.sent(StatusesPending)) == committed
    if committed:
        it.read(package(11))
    else:
        it.tick("retry")
    assert it.asked(ImportPackages).offset == (11 if committed else 10)


def test_a_clear_received_while_the_repository_is_unavailable_is_not_lost() -> None:
    it = importing(editable=True)
    tried = it.fail(ImportPackages, RepositoryUnavailable("disk gone"))
    it.fail(OpenRepository, RepositoryUnavailable("disk gone"))
    it.order(clear(12, at=5))
    it.tick("open")
    it.done(OpenRepository, tried.ledger)
    saved = it.save_all()
    assert (saved[0].ledger.offset, saved[0].ledger.command_offset, saved[0].durable) == (10, 5, True)
    it.read(package(11), package(12), package(13))
    it.save_all()
    assert it.asked(ImportPackages).offset == 13


def test_an_unavailable_repository_is_reopened_with_backoff_and_the_state_says_why() -> None:
    it = importing()
    it.fail(ImportPackages, RepositoryUnavailable("disk gone"))
    waits = []
    for _ in range(10):
        it.fail(OpenRepository, RepositoryUnavailable("still gone; mount it"))
        assert it.state() == (State.WAITING, "still gone; mount it")
        waits.append(it.timers["open"] - it.now.mono_s)
        it.tick("open")
    assert waits[0] < 1
    assert 20 < waits[-1] <= 30
    assert it.notes().count("repository.failed") == 10
    it.done(OpenRepository, LEDGER)
    it.save_all()
    it.tick("retry")
    it.done(ImportPackages)
    assert it.state()[0] is State.IDLE


def test_a_failed_save_is_repeated() -> None:
    it = importing(max_retries=0)
    it.fail(ImportPackages, OOPS)
    it.fail(SaveLedger, RepositoryUnavailable("disk full; make room"))
    assert it.state() == (State.WAITING, "disk full; make room")
    it.tick("open")
    it.done(OpenRepository, LEDGER)
    (saved,) = it.save_all()
    assert saved.ledger.outbox[0].status is Status.REMOVED_FAILED
    assert it.state()[0] is State.IDLE


@pytest.mark.proves("F9", "W34")
def test_packages_for_others_are_skipped_by_their_headers_alone() -> None:
    it = ImporterDriver(follows=("site",)).arrive()
    it.read(garbage(10, "other"), package(11, "other"), package(12, "site", Kind.TEST), package(13, "site"))
    tried = it.asked(ImportPackages)
    assert (tried.offset, tried.attempt.offset) == (13, 12)
    it.done(ImportPackages)
    assert it.report().offset == 13


@pytest.mark.proves("F77")
def test_a_position_moved_by_skipped_packages_is_stored_a_little_later() -> None:
    it = ImporterDriver(follows=("site",)).arrive()
    it.read(*(package(offset, "other") for offset in range(10, 110)))
    assert not it.asks(SaveLedger)
    it.tick("settle")
    saved = it.done(SaveLedger)
    assert (saved.ledger.offset, saved.durable) == (109, False)
    assert "settle" not in it.timers


@pytest.mark.proves("F82", "F83")
def test_statuses_are_sent_once_and_only_after_they_are_stored() -> None:
    it = importing(editable=True)
    assert it.sent(StatusesPending) == []
    it.done(ImportPackages)
    (pending,) = it.sent(StatusesPending)
    assert [(status.sequence, status.status) for status in pending.statuses] == [(1, Status.IMPORTED)]
    it.read(package(11))
    it.feed(StatusesSent(sequence=1))  # while the next import is under way
    it.done(ImportPackages)
    assert [status.sequence for status in it.sent(StatusesPending)[-1].statuses] == [2]
    assert [status.sequence for status in it.sent(StatusesPending)[0].statuses] == [1]
    assert len(it.sent(StatusesPending)) == 2


def test_a_new_status_sender_gets_all_statuses_not_known_to_be_on_the_log() -> None:
    it = importing(editable=True)
    it.done(ImportPackages)
    it.feed(PeerUp(roles.STATUS_SENDER))
    first, second = it.sent(StatusesPending)
    assert first == second


def test_a_status_from_before_a_restart_is_sent_again_with_its_number() -> None:
    it = importing(editable=True)
    committed = it.done(ImportPackages).ledger
    again = ImporterDriver(editable=True).arrive(committed)
    assert again.sent(StatusesPending) == it.sent(StatusesPending)


def test_a_subscriber_that_is_not_editable_reports_only_packages_it_gave_up() -> None:
    it = importing(max_retries=0)
    it.done(ImportPackages)
    it.read(package(11))
    it.fail(ImportPackages, OOPS)
    it.save_all()
    (pending,) = it.sent(StatusesPending)
    assert [status.status for status in pending.statuses] == [Status.REMOVED_FAILED]


@pytest.mark.proves("F82", "W12")
def test_imports_continue_while_many_statuses_wait_for_their_topic() -> None:
    it = ImporterDriver(editable=True).arrive()
    it.read(*(package(offset) for offset in range(10, 60)))
    for _ in range(50):
        it.done(ImportPackages)
    assert it.report().imported == 50
    assert it.state()[0] is State.IDLE


@pytest.mark.proves("F82", "W12")
def test_a_full_outbox_stops_imports_and_the_state_says_so_until_it_empties() -> None:
    it = ImporterDriver(editable=True, outbox_max=3).arrive()
    it.read(*(package(offset) for offset in range(10, 20)))
    for _ in range(3):
        it.done(ImportPackages)
    assert not it.asks(ImportPackages)
    assert it.state() == (State.WAITING, "3 statuses wait for the log")
    it.feed(StatusesSent(sequence=2))
    assert it.asked(ImportPackages).offset == 13
    assert it.state()[0] is State.IMPORTING


def test_it_answers_once_everything_on_the_log_at_the_time_of_the_question_is_processed() -> None:
    it = ImporterDriver().arrive()
    asker, later = Origin("gateway", 1), Origin("gateway", 2)
    it.feed(CaughtUpQuery(), asker)
    it.feed(CaughtUpQuery(), later)  # after the read of the end has begun, so that read does not count
    it.find_bounds(end=11)
    it.read(package(10))
    assert it.replies() == []
    it.done(ImportPackages)
    assert [origin for origin, _ in it.replies()] == [asker]
    it.find_bounds(end=12)
    it.read(package(11))
    it.done(ImportPackages)
    assert [origin for origin, _ in it.replies()] == [asker, later]


def test_a_question_survives_a_failing_log() -> None:
    it = ImporterDriver().arrive()
    it.feed(CaughtUpQuery(), Origin("gateway", 1))
    it.fail(FindBounds, CallboardError("down"))
    assert not it.asks(FindBounds)
    it.tick("look")
    it.find_bounds(end=10)
    assert len(it.replies()) == 1


def test_a_new_poller_gets_the_request_again() -> None:
    it = ImporterDriver().arrive()
    it.feed(PeerUp(roles.PACKAGE_POLLER))
    first, second = it.sent(PackagesWanted)
    assert first == second


@pytest.mark.proves("F76")
def test_more_is_requested_only_when_less_than_one_fetch_is_left() -> None:
    it = ImporterDriver(fetch_records=3).arrive()
    it.read(package(10), package(11), package(12))
    assert [wish.start for wish in it.sent(PackagesWanted)] == [10]
    it.done(ImportPackages)
    assert [wish.start for wish in it.sent(PackagesWanted)] == [10, 13]


def test_an_error_that_quotes_a_name_that_is_not_utf_8_can_be_stored_and_reported() -> None:
    it = importing()
    it.fail(ImportPackages, CallboardError("cannot write caf\udce9"))
    assert it.report().last_error == "cannot write caf?"
    it.report().last_error.encode()


def test_stopping_finishes_the_running_import_and_starts_no_other() -> None:
    it = ImporterDriver().arrive()
    it.read(package(10), package(11))
    it.feed(Stopping())
    assert not it.stopped
    it.done(ImportPackages)
    assert it.stopped
    assert not it.asks(ImportPackages)


def test_stopping_stores_the_ledger_and_says_goodbye() -> None:
    it = ImporterDriver(follows=("site",)).arrive()
    it.read(package(10, "other"))
    it.feed(Stopping())
    saved = it.done(SaveLedger)
    assert (saved.ledger.offset, saved.durable) == (10, True)
    assert it.stopped
    assert it.sent(StatusesPending)[-1].last


def test_a_stopped_subscriber_still_reports_what_blocked_it() -> None:
    it = ImporterDriver().arrive()
    it.read(garbage(10))
    it.feed(Stopping())
    while it.asks(SaveLedger):
        it.done(SaveLedger)
    announcement = it.sent(Report)[-1].announcement
    assert announcement.state is State.STOPPED
    assert announcement.reason.startswith("was blocked: ")


@pytest.mark.proves("R18")
def test_a_failing_repository_does_not_delay_a_stop() -> None:
    it = importing()
    it.feed(Stopping())
    it.fail(ImportPackages, RepositoryUnavailable("disk gone"))
    it.fail(OpenRepository, RepositoryUnavailable("disk gone"))
    assert it.stopped


@pytest.mark.proves("W5")
def test_two_deaths_of_the_importer_do_not_give_up_a_package_whatever_the_limit_of_retries() -> None:
    stored = LEDGER
    for attempt in (1, 2, 3):
        it = ImporterDriver(max_retries=0).arrive(stored)
        it.read(package(10))
        stored = it.asked(ImportPackages).attempt
        assert stored.attempts == attempt
    it = ImporterDriver(max_retries=0).arrive(stored)
    it.read(package(10))
    assert it.save_all()[0].ledger.outbox[0].reason == "the importer died in attempt 3"
