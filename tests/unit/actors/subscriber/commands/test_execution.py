"""Commands are carried out in the order of the log, once, even after a restart, and each has a result."""

from dataclasses import replace

import pytest

from callboard.actors.subscriber.effects import ImportPackages, OpenRepository, SaveLedger
from callboard.errors import BlobMissing, RepositoryUnavailable
from callboard.messages.distribution.ledger import Ledger
from callboard.messages.distribution.mailbox import (
    Admitted,
    CommandPassedOver,
    CommandsRead,
    CommandsWanted,
    StatusesPending,
)
from callboard.messages.distribution.topic_messages import (
    ClearCommand,
    PauseCommand,
    ResumeCommand,
    RetryCommand,
    SkipCommand,
    State,
    Status,
    ThrottleCommand,
)
from callboard.testing.drivers.subscriber_example import (
    COMMANDS,
    LEDGER,
    ImporterDriver,
    clear,
    command,
    garbage,
    package,
)

PAUSE = {"pause": PauseCommand()}
RESUME = {"resume": ResumeCommand()}


def skip(offset: int) -> dict[str, SkipCommand]:
    return {"skip": SkipCommand(offset=offset)}


def retry(offset: int = -1) -> dict[str, RetryCommand]:
    return {"retry": RetryCommand(offset=offset)}


def throttle(limit: int) -> dict[str, ThrottleCommand]:
    return {"throttle": ThrottleCommand(packages_per_min=limit)}


def stuck(*, editable: bool = True, **settings: object) -> ImporterDriver:
    """A subscriber whose head, at offset 10, waits for its next try."""
    it = ImporterDriver(editable=editable, **settings).arrive()
    it.read(package(10), package(11), package(12, "other"), package(13))
    while it.asks(ImportPackages):  # together, then one at a time
        it.fail(ImportPackages, BlobMissing("gone"))
    return it


def execute(it: ImporterDriver, *commands: object, end: int = 100) -> list[Ledger]:
    it.order(*commands, end=end)  # type: ignore[arg-type]
    return [saved.ledger for saved in it.save_all()]


def told(it: ImporterDriver) -> dict[str, tuple[bool, int, str]]:
    it.sends_all()
    return {name: (result.accepted, result.packages, result.reason) for name, result in it.results().items()}


def statuses(it: ImporterDriver) -> list[tuple[int, Status, str]]:
    lines = {line.sequence: line for pending in it.sent(StatusesPending) for line in pending.statuses}
    return [(line.offset, line.status, line.reason) for line in lines.values()]


# Clear.


@pytest.mark.proves("F48", "F84", "W11", "R1")
def test_a_clear_is_answered_with_its_count_once_it_is_complete() -> None:
    it = stuck()
    stored = execute(it, clear(12, at=5))[-1]
    assert (stored.clears, stored.offset) == ((), 12)
    assert told(it)["c5"] == (True, 3, "cleared up to offset 12")
    assert it.asked(ImportPackages).offset == 13


@pytest.mark.proves("F85")
def test_a_cleared_package_is_removed_with_author_and_reason_even_behind_a_closed_gate() -> None:
    it = stuck(golden="edge-0")
    execute(it, command(4, **PAUSE), clear(10, at=5))
    told(it)
    assert (10, Status.REMOVED, "cleared by ann: because") in statuses(it)
    assert it.state()[0] is State.PAUSED


@pytest.mark.proves("W11")
def test_a_clear_beyond_the_end_of_the_log_is_refused_and_removes_no_later_package() -> None:
    it = stuck()
    ledger = execute(it, clear(14, at=5), end=14)[-1]
    assert ledger.clears == ()
    assert told(it)["c5"] == (False, 0, "offset 14 is past the end of the package log, which is 14")
    execute(it, clear(13, at=6), end=14)
    assert told(it)["c6"][:2] == (True, 4)


@pytest.mark.proves("W11")
def test_a_completed_clear_does_not_cover_later_packages_at_the_same_offsets() -> None:
    it = stuck()
    ledger = execute(it, clear(13, at=5))[-1]
    older = ImporterDriver(editable=True, on_gap="earliest").arrive(ledger, first=1, end=9)  # an older copy of the log
    older.read(package(1))
    assert older.asked(ImportPackages).offset == 1


@pytest.mark.proves("W11")
def test_an_incomplete_clear_is_void_on_an_older_copy_of_the_log() -> None:
    it = stuck()
    ledger = execute(it, clear(50, at=5))[-1]
    assert len(ledger.clears) == 1
    older = ImporterDriver(editable=True, on_gap="earliest").arrive(ledger, first=1, end=9)
    older.read(package(1))
    assert older.asked(ImportPackages).offset == 1


def test_a_clear_of_packages_already_processed_or_being_cleared_is_refused() -> None:
    it = stuck()
    execute(it, clear(9, at=4), clear(30, at=5), clear(20, at=6), clear(20, at=7, publisher="site"))
    results = told(it)
    assert results["c4"] == (False, 0, "nothing is left to clear up to offset 9: the position is already 9")
    assert results["c6"] == results["c7"] == (False, 0, "everything up to offset 20 is already being cleared")


def test_two_clears_each_count_what_they_removed() -> None:
    it = stuck()
    execute(it, clear(11, at=5, publisher="site"), clear(12, at=6))
    results = told(it)
    assert results["c5"][:2] == (True, 2)
    assert results["c6"][:2] == (True, 1)


@pytest.mark.proves("F50")
@pytest.mark.parametrize("order", [{"clear": ClearCommand(offset=10)}, skip(10)])
def test_a_subscriber_that_is_not_editable_refuses_commands_that_remove_packages(order: dict[str, object]) -> None:
    it = stuck(editable=False)
    execute(it, command(5, **order))
    accepted, packages, reason = told(it)["c5"]
    assert (accepted, packages) == (False, 0)
    assert "not editable" in reason
    assert it.report().offset == 9


@pytest.mark.parametrize("order", [retry(), PAUSE, throttle(5)])
def test_a_subscriber_that_is_not_editable_carries_out_the_other_commands(order: dict[str, object]) -> None:
    it = stuck(editable=False)
    execute(it, command(5, **order))
    assert told(it)["c5"][0] is True


@pytest.mark.proves("W10")
def test_a_clear_of_one_publisher_does_not_remove_the_packages_of_another() -> None:
    it = stuck()
    execute(it, clear(13, at=5, publisher="site"))
    assert it.asked(ImportPackages).offset == 12
    assert told(it) == {}  # not complete
    it.done(ImportPackages)
    it.save_all()
    assert told(it)["c5"][:2] == (True, 3)


@pytest.mark.proves("W10")
def test_a_clear_of_one_publisher_completes_while_a_package_of_another_waits_before_it() -> None:
    it = stuck(max_retries=-1)
    execute(it, clear(13, at=5, publisher="site"))
    it.fail(ImportPackages, BlobMissing("gone"))
    it.save_all()
    accepted, packages, reason = told(it)["c5"]
    assert (accepted, packages) == (True, 2)
    assert reason.startswith("so far; the rest up to offset 13 ")
    it.tick("retry")
    it.done(ImportPackages)
    it.save_all()
    assert told(it)["c5"][:2] == (True, 2)
    assert (it.report().offset, it.report().cleared) == (13, 3)


# Skip.


@pytest.mark.proves("F49")
def test_a_skip_removes_only_the_package_at_the_head() -> None:
    it = stuck()
    execute(it, command(5, **skip(10)))
    assert it.asked(ImportPackages).offset == 11
    assert (10, Status.SKIPPED, "skipped by ann: because") in statuses(it)
    assert told(it)["c5"][:2] == (True, 1)
    assert it.report().skipped == 1


def test_a_skip_of_a_package_that_is_not_at_the_head_is_refused() -> None:
    it = stuck()
    execute(it, command(5, **skip(12)), command(6, **skip(9)), command(7, **skip(99)))
    results = told(it)
    assert results["c5"] == (
        False, 0, "offset 12 is not at the head of the queue, which is offset 10; wait until it is",
    )  # fmt: skip
    assert "already processed" in results["c6"][2]
    assert results["c7"][2].startswith("offset 99 is not at the head")


def test_a_skip_given_while_the_subscriber_was_down_takes_effect_before_the_first_import() -> None:
    it = ImporterDriver(editable=True)
    it.done(OpenRepository, LEDGER)
    it.save_all()
    it.feed(Admitted())
    it.find_bounds()
    it.save_all()
    it.order(command(5, **skip(10)))
    it.feed(CommandsRead())
    it.read(package(10), package(11))
    it.save_all()
    assert it.asked(ImportPackages).offset == 11


# Retry.


@pytest.mark.proves("F79", "W23")
def test_a_retry_starts_a_waiting_head_at_once() -> None:
    it = stuck()
    assert not it.asks(ImportPackages)
    execute(it, command(5, **retry()))
    assert it.asked(ImportPackages).offset == 10
    assert told(it)["c5"][:2] == (True, 1)


@pytest.mark.proves("W23")
def test_any_command_retries_an_unavailable_repository_at_once() -> None:
    it = ImporterDriver(editable=True).arrive()
    it.read(package(10))
    it.fail(ImportPackages, RepositoryUnavailable("disk full"))
    it.fail(OpenRepository, RepositoryUnavailable("disk full"))
    assert not it.asks(OpenRepository)
    it.order(command(5, **retry()))
    it.done(OpenRepository, LEDGER)
    it.save_all()
    assert it.asked(ImportPackages).offset == 10


def test_a_retry_of_an_empty_queue_is_refused() -> None:
    it = ImporterDriver().arrive()
    execute(it, command(5, **retry()))
    assert told(it)["c5"] == (False, 0, "no package is at the head of the queue, so there is nothing to retry")


def test_a_retry_at_a_gap_checks_the_position_again() -> None:
    it = ImporterDriver()
    it.done(OpenRepository, LEDGER)
    it.feed(Admitted())
    it.find_bounds(first=50)
    assert it.state()[0] is State.GAP
    assert len(it.sent(CommandsWanted)) == 1
    it.feed(command(5, **retry()))
    it.save_all()
    it.find_bounds(first=5)
    assert it.state()[0] is not State.GAP


# Pause, resume, throttle.


def test_a_pause_stops_imports_until_it_is_resumed_also_after_a_restart() -> None:
    it = stuck()
    stored = execute(it, command(5, **PAUSE))[-1]
    assert it.state() == (State.PAUSED, "paused by ann: because; callboard resume edge-1")
    again = ImporterDriver(editable=True).arrive(stored)
    again.read(package(10))
    assert not again.asks(ImportPackages)
    assert again.state()[0] is State.PAUSED
    execute(again, command(6, **RESUME))
    assert again.asked(ImportPackages).offset == 10


def test_a_pause_is_shown_with_an_empty_queue_too() -> None:
    it = ImporterDriver().arrive()
    execute(it, command(5, pause=PauseCommand(), author="", reason=""))
    assert it.state() == (State.PAUSED, "paused by an unknown author; callboard resume edge-1")


def test_pauses_and_resumes_count_in_the_order_of_the_log() -> None:
    it = stuck()
    execute(it, command(5, **RESUME), command(6, **PAUSE), command(7, **PAUSE), command(8, **RESUME))
    results = told(it)
    assert [results[name][0] for name in ("c5", "c6", "c7", "c8")] == [False, True, False, True]
    assert it.state()[0] is not State.PAUSED


def test_a_throttle_spaces_imports_and_survives_a_restart() -> None:
    it = ImporterDriver(batch_packages=1).arrive()
    stored = execute(it, command(5, **throttle(6)))[-1]
    assert stored.throttle_per_min == 6
    again = ImporterDriver().arrive(stored)
    again.read(package(10), package(11))
    again.done(ImportPackages)
    assert not again.asks(ImportPackages)
    assert again.state()[0] is State.THROTTLED
    again.tick("gate")
    assert again.asked(ImportPackages).offset == 11
    assert again.now.mono_s == pytest.approx(110.0)


@pytest.mark.parametrize(
    ("order", "reason"),
    [(throttle(-1), "-1 packages a minute is not"), (throttle(0), "no limit to lift"), (throttle(10**9), "choose 0")],
)
def test_an_invalid_throttle_is_refused(order: dict[str, object], reason: str) -> None:
    it = stuck()
    execute(it, command(5, **order))
    assert told(it)["c5"][0] is False
    assert reason in told(it)["c5"][2]


# Conflicts, repetitions, restarts.


def test_of_conflicting_commands_the_first_on_the_log_counts() -> None:
    it = stuck()
    execute(it, command(4, **skip(10)), clear(10, at=5), command(6, **skip(10)))
    results = told(it)
    assert [results[name][0] for name in ("c4", "c5", "c6")] == [True, False, False]
    it = stuck()
    execute(it, clear(10, at=4), command(5, **skip(10)), command(6, **skip(10)))
    results = told(it)
    assert [results[name][0] for name in ("c4", "c5", "c6")] == [True, False, False]
    assert (it.report().cleared, it.report().skipped) == (1, 0)


def test_a_command_that_is_on_the_log_twice_takes_effect_once_and_is_reported() -> None:
    it = stuck()
    execute(it, command(5, **PAUSE), command(6, **RESUME), command(7, command_id="c5", **PAUSE))
    assert it.state()[0] is not State.PAUSED
    assert told(it)["c5"] == (False, 0, "it was accepted before; send the command again with a new id")


def test_a_command_is_not_carried_out_again_after_a_restart() -> None:
    it = stuck()
    stored = execute(it, command(5, **PAUSE), command(6, **RESUME))[-1]
    again = ImporterDriver(editable=True).arrive(stored)
    assert again.sent(CommandsWanted)[-1].offset == 6
    execute(again, command(5, **PAUSE))
    assert again.state()[0] is not State.PAUSED


def test_a_result_is_sent_after_its_command_is_stored_and_until_it_is_on_the_log() -> None:
    it = stuck()
    it.order(command(5, **PAUSE))
    assert it.results() == {}
    stored = it.done(SaveLedger).ledger
    assert it.results()["c5"].accepted
    again = ImporterDriver(editable=True).arrive(stored)
    assert again.results() == it.results()
    again.sends_all()
    assert again.save_all() == []
    again.tick("settle")
    assert again.done(SaveLedger).ledger.results == ()


def test_commands_received_while_the_repository_is_busy_wait_for_it() -> None:
    it = ImporterDriver(editable=True).arrive()
    it.read(package(10))
    execute(it, command(5, **PAUSE), clear(20, at=6))
    assert it.results() == {}
    it.done(ImportPackages)
    assert it.save_all()[0].ledger.command_offset == 6


@pytest.mark.parametrize(
    ("fields", "reason"),
    [
        ({}, "'nothing' is not a command"),
        ({**PAUSE, **RESUME}, "'pause+resume' is not a command"),
        ({**PAUSE, "log_id": "another"}, "another package log"),
        (retry(99), "is past the end"),
    ],
)
def test_a_command_that_cannot_be_carried_out_is_refused_with_the_reason(
    fields: dict[str, object], reason: str
) -> None:
    it = stuck()
    ledger = execute(it, command(5, **fields), end=50)[-1]
    assert ledger.command_offset == 5
    assert "command.refused" in it.notes()
    assert reason in told(it)["c5"][2]


def test_a_skipped_record_counts_as_read() -> None:
    it = stuck()
    ledger = execute(it, CommandPassedOver(log_id=COMMANDS, offset=7, reason="damaged"))[-1]
    assert (ledger.command_offset, ledger.results) == (7, ())
    assert "command.passed_over" in it.notes()


@pytest.mark.proves("W11")
def test_on_an_older_copy_of_the_command_topic_only_new_commands_are_carried_out() -> None:
    it = stuck()
    execute(it, command(40, **PAUSE))
    execute(it, CommandPassedOver(log_id=COMMANDS, offset=19, reason="an older copy", set_back=True))
    execute(it, clear(10, at=12), command(20, **RESUME))
    results = told(it)
    assert "c12" not in results
    assert results["c20"][0] is True
    assert it.state()[0] is not State.PAUSED


def test_a_subscriber_without_its_name_carries_out_commands_only_after_it_has_it_again() -> None:
    it = stuck()
    it.feed(Admitted(until_ms=int(it.now.mono_s * 1000) + 1000))
    it.pass_time(2)
    assert execute(it, command(5, **PAUSE)) == []
    it.feed(Admitted(until_ms=int(it.now.mono_s * 1000) + 1000))
    assert it.save_all()[0].ledger.command_offset == 5


def test_a_command_without_an_id_is_carried_out_and_its_result_not_sent() -> None:
    it = stuck()
    execute(it, command(5, command_id="", **PAUSE))
    assert it.state()[0] is State.PAUSED
    assert told(it) == {}


def test_the_remembered_ids_are_bounded() -> None:
    it = stuck()
    commands = [command(at, **(PAUSE if at % 2 else RESUME)) for at in range(5, 305)]
    ledger = execute(it, *commands)[-1]
    assert len(ledger.command_ids) <= 64
    assert replace(ledger, command_ids=()).command_offset == 304


# Packages that were given up.


@pytest.mark.proves("W18")
@pytest.mark.parametrize("editable", [True, False])
def test_a_skip_dismisses_a_package_that_was_given_up_also_if_not_editable(editable: bool) -> None:
    it = ImporterDriver(editable=editable, on_undecodable="dead_letter").arrive()
    it.read(garbage(10), package(11))
    it.done(ImportPackages)
    execute(it, command(5, **skip(10)), command(6, **skip(10)))
    results = told(it)
    assert results["c5"][:2] == (True, 1)
    assert results["c6"] == (False, 0, "offset 10 is already processed, and nothing of it is left to skip")
    mine = [(status, reason) for offset, status, reason in statuses(it) if offset == 10]
    assert [status for status, _ in mine] == [Status.REMOVED_FAILED, Status.REMOVED]
    assert mine[1][1] == "dismissed by ann: because"
    assert it.report().cleared == 0


# Records of strangers.


@pytest.mark.parametrize("offset", [-1, -2, -(1 << 62)])
def test_every_command_about_an_offset_below_0_is_refused(offset: int) -> None:
    it = stuck()
    commands = [clear(offset, at=5), command(6, **skip(offset))]
    commands += [command(7, **retry(offset))] if offset != -1 else []  # which means the head
    stored = execute(it, *commands)[-1]
    assert (stored.paused_by, stored.clears, stored.offset) == ("", (), 9)
    assert set(told(it).values()) == {(False, 0, f"there is no offset {offset}; the first is 0")}
