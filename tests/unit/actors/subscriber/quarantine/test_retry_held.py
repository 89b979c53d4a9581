"""Quarantined packages are held with all later ones that overlap, retried, and released."""

import pytest

from callboard.actors.core.effects import LogRead, ReadLog
from callboard.actors.subscriber.effects import ImportPackages, OpenRepository, SaveLedger
from callboard.errors import (
    BlobMissing,
    BlobUnavailable,
    CallboardError,
    OffsetOutOfRange,
    PackageCorrupt,
    RepositoryUnavailable,
)
from callboard.messages.distribution.ledger import Ledger
from callboard.messages.distribution.mailbox import StatusesPending
from callboard.messages.distribution.topic_messages import (
    Kind,
    PauseCommand,
    ResumeCommand,
    RetryCommand,
    SkipCommand,
    State,
    Status,
)
from callboard.messages.record import Record
from callboard.testing.drivers.subscriber_example import LEDGER, LOG, ImporterDriver, clear, command, garbage, package

OOPS = BlobMissing("not there")


def about(offset: int, *paths: str, publisher: str = "site") -> Record:
    return package(offset, publisher, Kind.DELETE, paths=paths)


TEN, ELEVEN, TWELVE, THIRTEEN = RECORDS = (
    about(10, "/a"),
    about(11, "/a/b"),
    about(12, "/c"),
    about(13, "/a/b/c", publisher="shop"),
)
"""11 overlaps 10, and 13 overlaps 11."""


def quarantining(stored: Ledger = LEDGER, **settings: object) -> ImporterDriver:
    others = {"on_give_up": "quarantine", "max_retries": 0, "editable": True, "coalesce": False}
    return ImporterDriver(**(others | settings)).arrive(stored)


def imports(it: ImporterDriver, *read: Record) -> list[int]:
    """Let all imports succeed, also of packages that are read again; their offsets."""
    known = {record.offset: record for record in (*RECORDS, *read)}
    done: list[int] = []
    while it.asks(ImportPackages) or it.asks(SaveLedger) or it.asks(ReadLog):
        it.save_all()
        if it.asks(ReadLog):
            reread(it, known[it.asked(ReadLog).start])
        if it.asks(ImportPackages):
            done += it.done(ImportPackages).offsets
    return done


def reread(it: ImporterDriver, *records: Record, log_id: str = LOG) -> int:
    """Answer the importer's own read of the log; the offset where it begins."""
    return it.done(ReadLog, LogRead(log_id, records, records[-1].offset + 1 if records else 99)).start


def ledger(it: ImporterDriver) -> Ledger:
    """As last stored."""
    it.save_all()
    written = [effect.ledger for effect in it.effects if isinstance(effect, SaveLedger | ImportPackages)]
    return written[-1]


def held(it: ImporterDriver) -> list[int]:
    return [each.offset for each in ledger(it).held]


def told(it: ImporterDriver) -> dict[int, tuple[Status, str]]:
    """The last status of each package."""
    it.save_all()
    it.sends_all()
    lines = {line.sequence: line for pending in it.sent(StatusesPending) for line in pending.statuses}
    return {lines[sequence].offset: (lines[sequence].status, lines[sequence].reason) for sequence in sorted(lines)}


def execute(it: ImporterDriver, at: int, **order: object) -> tuple[bool, str]:
    it.order(command(at, **order))
    it.save_all()
    it.sends_all()
    result = it.results()[f"c{at}"]
    return result.accepted, result.reason


def retry(it: ImporterDriver, offset: int, at: int = 5) -> tuple[bool, str]:
    return execute(it, at, retry=RetryCommand(offset=offset))


def stuck_at_10(max_retries: int = 0) -> ImporterDriver:
    """10 is given up, 11 and 13 are held with it, 12 is imported."""
    it = quarantining(max_retries=max_retries)
    it.read(*RECORDS)
    it.fail(ImportPackages, OOPS)
    for _ in range(max_retries):
        it.tick("retry")
        it.fail(ImportPackages, OOPS)
    assert imports(it) == [12]
    return it


@pytest.mark.proves("W22")
def test_a_package_that_was_given_up_holds_back_only_packages_that_overlap() -> None:
    it = stuck_at_10()
    assert held(it) == [10, 11, 13]
    assert told(it)[10] == (Status.HELD, "not there")
    assert told(it)[11] == (Status.HELD, "waits for offset 10, which is in quarantine")
    assert told(it)[13] == (Status.HELD, "waits for offset 11, which is in quarantine")
    assert told(it)[12][0] is Status.IMPORTED
    assert (it.report().offset, it.report().held, it.state()[0]) == (13, 3, State.IDLE)


@pytest.mark.proves("W22", "W23")
def test_a_retry_imports_it_and_then_those_that_waited_in_order() -> None:
    it = stuck_at_10()
    assert retry(it, 10) == (True, "")
    assert imports(it) == [10, 11, 13]
    assert held(it) == []
    assert {status for status, _ in told(it).values()} == {Status.IMPORTED}
    assert (it.report().offset, it.report().imported) == (13, 4)


@pytest.mark.proves("W22")
def test_skipping_it_releases_those_that_waited_for_it() -> None:
    it = stuck_at_10()
    assert execute(it, 5, skip=SkipCommand(offset=10)) == (True, "")
    assert imports(it) == [11, 13]
    assert told(it)[10] == (Status.SKIPPED, "skipped by ann: because")
    assert it.report().skipped == 1


def test_a_package_that_waits_for_another_cannot_be_retried_before_it() -> None:
    it = stuck_at_10()
    assert retry(it, 13) == (False, "offset 13 waits for offset 11; retry or skip that one first")


@pytest.mark.proves("F48")
def test_a_clear_covers_held_packages_of_its_publisher() -> None:
    it = stuck_at_10()
    it.order(clear(12, at=5, publisher="site"))
    assert imports(it) == [13]
    it.sends_all()
    assert it.results()["c5"].packages == 2
    assert [told(it)[offset][0] for offset in (10, 11, 13)] == [Status.REMOVED, Status.REMOVED, Status.IMPORTED]


def test_a_retry_that_fails_again_is_held_again_with_the_new_reason_and_its_last_attempt() -> None:
    it = stuck_at_10(max_retries=1)
    retry(it, 10)
    reread(it, TEN)
    assert it.fail(ImportPackages, OOPS).attempt.held[0].attempts == 1
    it.tick("retrial")
    assert it.fail(ImportPackages, CallboardError("another reason")).attempt.held[0].attempts == 2
    assert told(it)[10] == (Status.HELD, "another reason")
    assert held(it) == [10, 11, 13]
    assert not it.asks(ImportPackages)


def test_other_packages_are_imported_between_two_retries() -> None:
    it = stuck_at_10(max_retries=5)
    retry(it, 10)
    reread(it, TEN)
    it.fail(ImportPackages, OOPS)
    it.read(about(14, "/d"))
    assert it.done(ImportPackages).offsets == (14,)
    it.tick("retrial")
    assert it.done(ImportPackages).offsets == (10,)


@pytest.mark.parametrize("error", [BlobUnavailable("store down"), RepositoryUnavailable("disk full")])
def test_an_outage_does_not_count_against_a_held_package(error: CallboardError) -> None:
    it = stuck_at_10()
    retry(it, 10)
    reread(it, TEN)
    for _ in range(5):
        tried = it.fail(ImportPackages, error)
        if it.asks(OpenRepository):
            it.done(OpenRepository, tried.attempt)
        assert tried.attempt.held[0].attempts == 1
        it.save_all()
        it.tick("retrial")
    assert it.done(ImportPackages).offsets == (10,)


@pytest.mark.parametrize("committed", [True, False])
def test_after_a_repository_error_the_ledger_says_whether_the_held_package_was_imported(committed: bool) -> None:
    it = stuck_at_10()
    retry(it, 10)
    reread(it, TEN)
    tried = it.fail(ImportPackages, RepositoryUnavailable("disk gone"))
    it.done(OpenRepository, tried.ledger if committed else tried.attempt)
    it.save_all()
    assert held(it) == ([11, 13] if committed else [10, 11, 13])
    it.tick("retrial")
    assert imports(it) == ([11, 13] if committed else [10, 11, 13])


@pytest.mark.proves("W5")
def test_a_held_package_that_kills_its_importer_is_not_retried_after_a_few_deaths() -> None:
    it = stuck_at_10()
    retry(it, 10)
    stored = ledger(it)
    for attempt in (1, 2, 3):
        it = quarantining(stored)
        reread(it, TEN)
        stored = it.asked(ImportPackages).attempt  # it is stored, and then the importer dies
        assert stored.held[0].attempts == attempt
    it = quarantining(stored)
    reread(it, TEN)
    assert told(it)[10] == (Status.HELD, "the importer died in attempt 3")
    assert not it.asks(ImportPackages)


@pytest.mark.parametrize(
    ("records", "reason"),
    [((), "no longer in the log"), ((TWELVE,), "no longer in the log"), ((garbage(10),), "cannot be decoded")],
)
def test_a_package_that_cannot_be_read_again_stays_held_and_says_so(records: tuple[Record, ...], reason: str) -> None:
    it = stuck_at_10()
    retry(it, 10)
    reread(it, *records)
    assert told(it)[10][0] is Status.HELD
    assert reason in told(it)[10][1]
    assert held(it) == [10, 11, 13]


def test_the_reason_for_a_trimmed_package_says_what_to_do() -> None:
    it = stuck_at_10()
    retry(it, 10)
    it.fail(ReadLog, OffsetOutOfRange("t", 10, 12, 20))
    reason = "it is no longer in the log; publish its paths again with --full, then skip it"
    assert told(it)[10] == (Status.HELD, reason)


def test_a_failing_log_is_read_again_later() -> None:
    it = stuck_at_10()
    retry(it, 10)
    it.fail(ReadLog, CallboardError("log down"))
    it.tick("retrial")
    assert imports(it) == [10, 11, 13]


@pytest.mark.proves("W22")
def test_a_later_package_that_supersedes_them_takes_their_place() -> None:
    it = stuck_at_10()
    it.read(about(14, "/a"))
    assert it.done(ImportPackages).offsets == (14,)
    assert held(it) == []
    assert [told(it)[offset] for offset in (10, 11, 13)] == [(Status.SUPERSEDED, "replaced by offset 14")] * 3
    assert (it.report().superseded, it.report().held) == (3, 0)


def test_a_superseding_package_that_fails_changes_nothing() -> None:
    it = stuck_at_10()
    it.read(about(14, "/a"))
    it.fail(ImportPackages, OOPS)
    assert held(it) == [10, 11, 13, 14]
    assert retry(it, 10)[0]
    assert imports(it) == [10, 11, 13], "14 failed by itself, so it waits for a command"
    assert held(it) == [14]


def test_the_packages_of_a_batch_are_held_and_imported_as_if_one_after_the_other() -> None:
    it = quarantining(batch_packages=64)
    it.read(*RECORDS)
    it.fail(ImportPackages, OOPS)
    assert it.fail(ImportPackages, OOPS).offsets == (10,)
    it.save_all()
    assert it.done(ImportPackages).offsets == (12,)
    assert held(it) == [10, 11, 13]


def test_a_pause_applies_to_held_packages_too() -> None:
    it = stuck_at_10()
    execute(it, 5, pause=PauseCommand())
    retry(it, 10, at=6)
    reread(it, TEN)
    assert not it.asks(ImportPackages)
    execute(it, 7, resume=ResumeCommand())
    assert imports(it) == [10, 11, 13]


def test_without_room_in_quarantine_it_blocks_until_there_is_some(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("callboard.actors.subscriber.quarantine.quarantine.HELD_MAX", 1)
    it = quarantining()
    it.read(*RECORDS)
    it.fail(ImportPackages, OOPS)
    assert held(it) == [10]
    assert it.state()[0] is State.BLOCKED
    assert "no room to quarantine another package: 1 are held; callboard retry or skip" in it.state()[1]
    assert not it.asks(ImportPackages)
    assert execute(it, 5, skip=SkipCommand(offset=10))[0]
    assert imports(it) == [11, 12, 13]


@pytest.mark.proves("F81")
def test_by_policy_a_package_that_was_given_up_blocks_until_a_command_retries_it() -> None:
    it = quarantining(on_give_up="block")
    it.read(*RECORDS)
    it.fail(ImportPackages, OOPS)
    assert it.state()[0] is State.BLOCKED
    assert "given up: not there; it is not retried" in it.state()[1]
    assert "retry" not in it.timers
    assert retry(it, 10)[0]
    assert imports(it) == [10, 11, 12, 13]


def test_a_corrupt_package_still_blocks_and_is_not_quarantined() -> None:
    it = quarantining()
    it.read(*RECORDS)
    it.fail(ImportPackages, PackageCorrupt("wrong digest"))
    assert it.state() == (State.BLOCKED, "wrong digest")
