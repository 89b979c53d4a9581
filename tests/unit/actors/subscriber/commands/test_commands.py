import pytest

from callboard.actors.subscriber.effects import ImportPackages, SaveLedger
from callboard.errors import BlobMissing, PackageCorrupt
from callboard.messages.distribution.mailbox import CommandsBlocked, StatusesPending, StatusesSent
from callboard.messages.distribution.topic_messages import Kind, Status
from callboard.testing.drivers.subscriber_example import ImporterDriver, clear, garbage, package


def stuck(**settings: object) -> ImporterDriver:
    """An editable subscriber whose head, at offset 10, waits for its next try."""
    it = ImporterDriver(editable=True, **settings).arrive()
    it.read(package(10), package(11), package(12, "other"), package(13))
    it.fail(ImportPackages, BlobMissing("gone"))
    return it


@pytest.mark.proves("W23")
def test_a_clear_takes_effect_at_once_on_a_head_that_waits_for_its_retry() -> None:
    it = stuck()
    it.order(clear(11, at=5))
    saved = it.done(SaveLedger)
    assert (saved.durable, saved.ledger.command_offset) == (True, 5)
    tried = it.asked(ImportPackages)
    assert tried.offset == 12
    removed = [(status.offset, status.status) for status in tried.attempt.outbox]
    assert removed == [(10, Status.REMOVED), (11, Status.REMOVED)]


def test_a_clear_is_stored_with_its_removals_before_the_next_import() -> None:
    it = stuck()
    it.order(clear(11, at=5))
    saved = it.asked(SaveLedger)
    assert (saved.ledger.offset, saved.ledger.command_offset, saved.durable) == (11, 5, True)
    assert not it.asks(ImportPackages)


def test_the_result_of_a_clear_is_sent_only_after_it_is_stored() -> None:
    it = stuck()
    it.order(clear(11, at=5))
    assert it.sent(StatusesPending) == []
    it.save_all()
    assert [status.offset for status in it.sent(StatusesPending)[0].statuses] == [10, 11]


def test_commands_received_twice_while_the_repository_is_busy_take_effect_once() -> None:
    it = ImporterDriver(editable=True).arrive()
    it.read(package(10))
    for at in (5, 6, 5):
        it.order(clear(10 + at, at=at))
    it.done(ImportPackages)
    (saved,) = it.save_all()
    assert saved.ledger.command_offset == 6


def test_a_clear_is_acknowledged_with_the_count() -> None:
    it = stuck()
    it.order(clear(11, at=5))
    it.save_all()
    report = it.report()
    assert (report.command_offset, report.offset, report.cleared) == (5, 11, 2)


def test_a_clear_of_one_publisher_leaves_the_packages_of_others() -> None:
    it = stuck()
    it.order(clear(13, at=5, publisher="site"))
    it.save_all()
    assert it.asked(ImportPackages).offset == 12
    after = it.done(ImportPackages).ledger
    it.save_all()
    assert after.imported == 1
    assert it.report().cleared == 3


def test_a_clear_covers_packages_read_later_and_survives_a_restart() -> None:
    it = stuck()
    it.order(clear(20, at=5))
    stored = it.save_all()[0].ledger
    again = ImporterDriver(editable=True).arrive(stored)
    again.read(*(package(offset) for offset in range(10, 22)))
    again.save_all()
    assert again.asked(ImportPackages).offset == 21


def test_a_lower_clear_does_not_take_back_a_higher_one() -> None:
    it = stuck()
    it.order(clear(12, at=5))
    it.order(clear(10, at=6))
    it.save_all()
    assert it.asked(ImportPackages).offset == 13


def test_a_command_received_twice_takes_effect_once_and_the_position_never_decreases() -> None:
    it = stuck()
    it.order(clear(10, at=5))
    it.order(clear(10, at=6))
    it.save_all()
    it.order(clear(99, at=5))
    assert it.save_all() == []
    assert it.report().command_offset == 6
    assert it.asked(ImportPackages).offset == 11


def test_a_clear_meant_for_another_log_is_void() -> None:
    it = stuck()
    it.order(clear(99, at=5, log_id="log-0"))
    it.save_all()
    assert "command.refused" in it.notes()
    assert it.report().cleared == 0
    assert it.report().command_offset == 5


def test_a_subscriber_that_is_not_editable_refuses_to_clear() -> None:
    it = ImporterDriver(editable=False).arrive()
    it.read(package(10))
    it.fail(ImportPackages, BlobMissing("gone"))
    it.order(clear(99, at=5))
    it.save_all()
    assert "command.refused" in it.notes()
    assert (it.report().offset, it.report().cleared) == (9, 0)
    it.tick("retry")
    assert it.asked(ImportPackages).offset == 10


@pytest.mark.proves("W19")
def test_a_clear_removes_a_blocked_package() -> None:
    it = ImporterDriver(editable=True).arrive()
    it.read(package(10), garbage(11), package(12))
    it.fail(ImportPackages, PackageCorrupt("damaged"))
    it.order(clear(11, at=5, publisher="site"))
    it.save_all()
    assert it.asked(ImportPackages).offset == 12


def test_a_clear_during_the_import_of_its_package_lets_it_finish() -> None:
    it = ImporterDriver(editable=True).arrive()
    it.read(package(10), package(11))
    it.order(clear(11, at=5))
    it.done(ImportPackages)
    it.save_all()
    report = it.report()
    assert (report.imported, report.cleared, report.offset) == (1, 1, 11)


@pytest.mark.proves("W19")
def test_clearing_ten_thousand_packages_takes_few_saves_and_bounded_turns() -> None:
    it = ImporterDriver(editable=True).arrive(end=10_010)
    it.order(clear(10_009, at=5), end=10_010)
    it.save_all()
    saves, longest_outbox = 0, 0
    for start in range(10, 10_010, 100):
        it.read(*(package(offset, kind=Kind.DELETE) for offset in range(start, start + 100)))
        for saved in it.save_all():
            saves += 1
            longest_outbox = max(longest_outbox, len(saved.ledger.outbox))
        pending = it.sent(StatusesPending)[-1]
        it.feed(StatusesSent(sequence=max(line.sequence for line in pending.statuses + pending.results)))
    assert it.report().cleared == 10_000
    assert not it.asks(ImportPackages)
    assert saves <= 200
    assert longest_outbox <= 200


def test_a_command_of_a_newer_version_shows_in_the_state() -> None:
    it = ImporterDriver().arrive()
    it.feed(CommandsBlocked(offset=7, reason="no command is carried out: of schema version 9; upgrade"))
    assert it.state()[1] == "no command is carried out: of schema version 9; upgrade"
