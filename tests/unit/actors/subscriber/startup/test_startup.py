from dataclasses import replace
from typing import Any

import pytest

from callboard.actors.core.decision import PeerUp
from callboard.actors.core.effects import FindBounds, LogRead, ReadLog
from callboard.actors.subscriber import roles
from callboard.actors.subscriber.effects import ImportPackages, OpenRepository, SaveLedger
from callboard.errors import LogUnavailable, RepositoryBusy, RepositoryUnavailable, SchemaTooNew
from callboard.messages.distribution.ledger import Ledger, Watermark
from callboard.messages.distribution.mailbox import (
    Admitted,
    AgentProblem,
    CommandsBlocked,
    CommandsRead,
    CommandsWanted,
    Obstacle,
    PackagesUnavailable,
    PackagesWanted,
    Problem,
    Report,
)
from callboard.messages.distribution.topic_messages import State
from callboard.messages.record import Record
from callboard.testing.drivers.subscriber_example import COMMANDS, LEDGER, LOG, ImporterDriver, clear, package


@pytest.mark.proves("F73", "F74", "W2")
@pytest.mark.parametrize(("start", "first_wanted"), [("earliest", 5), ("latest", 50), (20, 20), (3, 5), (99, 50)])
def test_the_first_position_is_stored_durably_before_the_first_read(start: str | int, first_wanted: int) -> None:
    it = ImporterDriver(start=start)
    it.done(OpenRepository, None)
    it.done(SaveLedger)  # the instance's name
    it.feed(Admitted())
    it.find_bounds(first=5, end=50)
    assert it.sent(PackagesWanted) == []
    saved = it.done(SaveLedger)
    assert (saved.durable, saved.ledger.positioned, saved.ledger.offset) == (True, True, first_wanted - 1)
    (wish,) = it.sent(PackagesWanted)
    assert (wish.log_id, wish.start) == (LOG, first_wanted)


@pytest.mark.proves("F74", "W2")
def test_a_position_that_cannot_be_stored_is_not_read_from() -> None:
    it = ImporterDriver()
    it.done(OpenRepository, None)
    it.done(SaveLedger)
    it.feed(Admitted())
    it.find_bounds(first=5, end=50)
    it.fail(SaveLedger, RepositoryUnavailable("disk full"))
    assert it.sent(PackagesWanted) == []
    it.tick("open")
    it.done(OpenRepository, Ledger(instance=it.report().subscriber_instance, subscriber="edge-1"))
    assert it.sent(PackagesWanted) == []
    it.save_all()
    assert it.sent(PackagesWanted)[0].start == 5


def test_a_restarted_subscriber_continues_after_its_stored_position() -> None:
    it = ImporterDriver(start="latest").arrive()
    assert it.sent(PackagesWanted)[0].start == 10
    assert not it.asks(SaveLedger)


def test_an_instance_whose_name_is_not_stored_announces_nothing() -> None:
    it = ImporterDriver()
    it.done(OpenRepository, None)
    it.feed(PeerUp(roles.ANNOUNCER))
    assert it.sent(Report) == []
    saved = it.done(SaveLedger)
    assert it.sent(Report)[0].announcement.subscriber_instance == saved.ledger.instance


def test_nothing_is_read_before_the_repository_is_open_even_if_the_name_is_granted_first() -> None:
    it = ImporterDriver(start="latest")
    it.fail(OpenRepository, RepositoryBusy("not yet"))
    it.feed(Admitted())
    assert not it.asks(FindBounds)
    it.tick("open")
    it.done(OpenRepository, LEDGER)
    it.find_bounds(end=50)
    assert it.sent(PackagesWanted)[0].start == 10


def test_nothing_is_read_before_the_name_is_granted() -> None:
    it = ImporterDriver()
    it.done(OpenRepository, LEDGER)
    assert not it.asks(FindBounds)
    assert it.state() == (State.STARTING, "waits for its name")
    assert it.sent(Report)[0].announcement.subscriber_instance == "me"


def test_a_repository_held_by_its_predecessor_is_retried_for_a_while() -> None:
    it = ImporterDriver()
    for _ in range(9):
        it.fail(OpenRepository, RepositoryBusy("held by process 7"))
        it.tick("open")
    assert it.sent(AgentProblem) == []
    it.fail(OpenRepository, RepositoryBusy("held by process 7"))
    assert it.sent(AgentProblem) == [AgentProblem(problem=Problem.REPOSITORY_BUSY, reason="held by process 7")]


def test_a_repository_that_cannot_be_opened_at_the_start_ends_the_agent() -> None:
    it = ImporterDriver()
    for _ in range(9):
        it.fail(OpenRepository, RepositoryUnavailable("no permission"))
        it.tick("open")
    it.fail(OpenRepository, RepositoryUnavailable("no permission"))
    assert it.sent(AgentProblem) == [AgentProblem(problem=Problem.REPOSITORY_UNAVAILABLE, reason="no permission")]


def test_a_repository_of_a_newer_version_ends_the_agent_at_once() -> None:
    it = ImporterDriver()
    it.fail(OpenRepository, SchemaTooNew("upgrade"))
    assert it.sent(AgentProblem) == [AgentProblem(problem=Problem.SCHEMA_TOO_NEW, reason="upgrade")]


@pytest.mark.parametrize(
    "found",
    [None, replace(LEDGER, instance="another"), replace(LEDGER, offset=3)],
    ids=["emptied", "exchanged", "set back"],
)
def test_a_repository_changed_by_another_process_ends_the_agent(found: Ledger | None) -> None:
    it = ImporterDriver().arrive()
    it.read(package(10))
    it.fail(ImportPackages, RepositoryUnavailable("folder gone"))
    it.done(OpenRepository, found)
    (problem,) = it.sent(AgentProblem)
    assert problem.problem is Problem.REPOSITORY_UNAVAILABLE
    assert "restart the subscriber" in problem.reason
    assert not it.open


def test_a_cloned_repository_keeps_its_position_and_becomes_another_instance() -> None:
    it = ImporterDriver().arrive(replace(LEDGER, subscriber="edge-0", clears=(Watermark(publisher="", offset=99),)))
    it.read(package(10))
    attempt = it.asked(ImportPackages).attempt
    assert attempt.instance not in ("me", "")
    assert attempt.subscriber == "edge-1"


@pytest.mark.proves("F10", "W3", "R7")
@pytest.mark.parametrize(
    ("first", "end", "log_id", "reason"),
    [
        (15, 50, LOG, "packages 10 to 14 were trimmed"),
        (1, 8, LOG, "past the end of the log"),
        (1, 50, "log-2", "the package log was replaced"),
    ],
)
def test_a_position_that_the_log_does_not_have_is_a_gap_with_a_reason(
    first: int, end: int, log_id: str, reason: str
) -> None:
    it = ImporterDriver()
    it.done(OpenRepository, LEDGER)
    it.feed(Admitted())
    it.find_bounds(first, end, log_id)
    state, why = it.state()
    assert state is State.GAP
    assert reason in why
    assert it.sent(PackagesWanted) == []
    assert not it.open


@pytest.mark.parametrize(("first", "end", "log_id"), [(15, 50, LOG), (1, 8, LOG), (1, 50, "log-2")])
def test_by_policy_a_gap_is_skipped_after_the_new_position_is_stored(first: int, end: int, log_id: str) -> None:
    it = ImporterDriver(on_gap="earliest")
    it.done(OpenRepository, LEDGER)
    it.feed(Admitted())
    it.find_bounds(first, end, log_id)
    assert it.sent(PackagesWanted) == []
    assert it.asked(SaveLedger).durable
    it.save_all()
    (wish,) = it.sent(PackagesWanted)
    assert (wish.log_id, wish.start) == (log_id, first)


@pytest.mark.proves("F10", "W11")
def test_a_clear_on_one_log_does_not_apply_to_its_replacement() -> None:
    it = ImporterDriver(on_gap="earliest")
    it.done(OpenRepository, replace(LEDGER, clears=(Watermark(publisher="", offset=500),)))
    it.feed(Admitted())
    it.find_bounds(1, 50, "log-2")
    it.save_all()
    it.feed(CommandsRead())
    it.read(package(1))
    assert it.asked(ImportPackages).offset == 1


@pytest.mark.parametrize("obstacle", [Obstacle.OUT_OF_RANGE, Obstacle.REPLACED])
def test_a_gap_that_opens_while_reading_is_found_once_the_running_import_has_ended(obstacle: Obstacle) -> None:
    it = ImporterDriver(fetch_records=2).arrive()
    it.read(package(10))
    it.feed(PackagesUnavailable(start=11, obstacle=obstacle, reason="gone"))
    assert not it.asks(FindBounds)
    it.done(ImportPackages)
    it.find_bounds(first=15, end=50)
    assert it.state()[0] is State.GAP
    assert it.report().offset == 10
    assert "packages 11 to 14 were trimmed" in it.state()[1]


def test_a_false_gap_takes_one_check() -> None:
    it = ImporterDriver().arrive()
    it.feed(PackagesUnavailable(start=10, obstacle=Obstacle.OUT_OF_RANGE, reason="odd"))
    it.find_bounds()
    assert [wish.start for wish in it.sent(PackagesWanted)] == [10, 10]
    assert it.state()[0] is State.IDLE


@pytest.mark.proves("F101", "W23")
def test_an_unavailable_log_is_named_and_waited_for() -> None:
    it = ImporterDriver()
    it.done(OpenRepository, LEDGER)
    it.feed(Admitted())
    it.fail(FindBounds, LogUnavailable("no route; check the network"))
    assert it.state() == (State.WAITING, "no route; check the network")
    it.tick("look")
    it.find_bounds()
    it.feed(CommandsRead())
    assert it.state()[0] is State.IDLE
    it.feed(PackagesUnavailable(start=10, obstacle=Obstacle.UNAVAILABLE, reason="no route"))
    assert it.state() == (State.WAITING, "no route")
    it.read(package(10))
    assert it.state()[0] is State.IMPORTING


def test_commands_are_requested_from_the_stored_offset_once_the_position_is_known() -> None:
    it = ImporterDriver(editable=True)
    it.feed(PeerUp(roles.COMMAND_HANDLER))
    it.order(clear(50, at=5))  # for a predecessor; the ledger to judge it by is not known yet
    it.done(OpenRepository, replace(LEDGER, command_log_id=COMMANDS, command_offset=3))
    it.feed(Admitted())
    assert it.sent(CommandsWanted) == []
    it.find_bounds()
    assert it.sent(CommandsWanted) == [CommandsWanted(subscriber_instance="me", log_id=COMMANDS, offset=3)]
    it.feed(PeerUp(roles.COMMAND_HANDLER))
    assert len(it.sent(CommandsWanted)) == 2


@pytest.mark.proves("R2")
def test_a_clear_given_while_the_subscriber_was_down_takes_effect_before_the_first_import() -> None:
    it = ImporterDriver(editable=True)
    it.feed(CommandsRead())  # for a predecessor
    it.done(OpenRepository, LEDGER)
    it.feed(Admitted())
    it.find_bounds()
    it.read(package(10), package(11))
    assert not it.asks(ImportPackages)
    assert it.state() == (State.STARTING, "reads the commands given so far")
    it.order(clear(10, at=5))
    it.feed(CommandsRead())
    it.save_all()
    assert it.asked(ImportPackages).offset == 11


def test_a_command_of_a_newer_version_does_not_delay_imports() -> None:
    it = ImporterDriver()
    it.done(OpenRepository, LEDGER)
    it.feed(Admitted())
    it.find_bounds()
    it.read(package(10))
    it.feed(CommandsBlocked(offset=7, reason="no command is carried out: upgrade"))
    assert it.asked(ImportPackages).offset == 10
    assert it.state() == (State.IMPORTING, "no command is carried out: upgrade")


KNOWN = replace(LEDGER, record_id="9")


def compared(*records: Record, **settings: Any) -> ImporterDriver:
    """A subscriber that has processed the record "9" at offset 9, and finds these from there on."""
    it = ImporterDriver(**settings)
    it.done(OpenRepository, KNOWN)
    it.feed(Admitted())
    it.find_bounds(first=1, end=50)
    assert it.asked(ReadLog).start == 9
    it.done(ReadLog, LogRead(LOG, records, 10))
    return it


def test_the_record_at_the_position_must_be_the_one_that_was_processed() -> None:
    it = compared(package(9))
    assert [wish.start for wish in it.sent(PackagesWanted)] == [10]


@pytest.mark.parametrize("found", [package(8), package(10)])
def test_another_copy_of_the_log_that_has_grown_past_the_position_is_a_gap(found: Record) -> None:
    there = replace(found, offset=9) if found.offset == 8 else found
    it = compared(there)
    state, reason = it.state()
    assert state is State.GAP
    assert "the log was replaced by an older or other copy" in reason
    assert it.sent(PackagesWanted) == []


def test_by_policy_another_copy_of_the_log_is_imported_from_its_start() -> None:
    it = compared(replace(package(8), offset=9), on_gap="earliest")
    (saved,) = it.save_all()
    assert (saved.ledger.offset, saved.ledger.record_id) == (0, "")
    assert it.sent(PackagesWanted)[-1].start == 1


def test_a_position_that_cannot_be_checked_now_is_checked_later() -> None:
    it = ImporterDriver()
    it.done(OpenRepository, KNOWN)
    it.feed(Admitted())
    it.find_bounds(first=1, end=50)
    it.fail(ReadLog, LogUnavailable("no route"))
    assert it.state() == (State.WAITING, "no route")
    it.tick("look")
    it.find_bounds(first=1, end=50)
    it.done(ReadLog, LogRead(LOG, (package(9),), 10))
    assert it.sent(PackagesWanted)[-1].start == 10


def test_the_id_of_the_record_and_its_time_are_stored_with_the_position() -> None:
    it = ImporterDriver().arrive()
    it.read(package(10))
    assert it.done(ImportPackages).ledger.record_id == "10 0"


@pytest.mark.parametrize(("stored", "fits"), [("9 0", True), ("9 7", False), ("9", True)])
def test_a_package_that_was_appended_again_to_an_older_copy_is_not_the_one_that_was_processed(
    stored: str, fits: bool
) -> None:
    it = ImporterDriver()
    it.done(OpenRepository, replace(KNOWN, record_id=stored))  # older versions stored the id alone
    it.feed(Admitted())
    it.find_bounds(first=1, end=50)
    it.done(ReadLog, LogRead(LOG, (package(9),), 10))
    assert (it.state()[0] is State.GAP) is not fits
