from random import Random

import pytest

from callboard.actors.core.decision import Done, Origin
from callboard.actors.core.effects import FindBounds, LogRead, ReadLog, TopicBounds
from callboard.actors.publisher.errors import status_watcher
from callboard.actors.publisher.errors.status_watcher import StatusWatcher, StatusWatcherSettings
from callboard.errors import LogReplaced, LogUnavailable, OffsetOutOfRange
from callboard.messages.distribution.fleet_mail import ErrorCount, ErrorsPage, ErrorsQuery
from callboard.messages.distribution.topic_messages import (
    CommandResultMessage,
    PackageStatusMessage,
    PingMessage,
    Status,
)
from callboard.messages.event import Event
from callboard.messages.headers import new_record, open_record
from callboard.messages.record import Record
from callboard.messages.repeated import repeated
from callboard.testing.drivers.decision_driver import DecisionDriver

HOUR = 3600 * 10**9


def status(
    offset: int,
    subscriber: str = "edge",
    publisher: str = "site",
    sequence: int = 0,
    status: Status = Status.REMOVED_FAILED,
    time_ns: int = 0,
    instance: str = "i1",
) -> PackageStatusMessage:
    return PackageStatusMessage(
        subscriber_instance=instance, subscriber=subscriber, publisher=publisher, offset=offset, sequence=sequence,
        status=status, time_ns=time_ns,
    )  # fmt: skip


PACKAGES_END = 1_000_000
"""Statuses are of packages below it; only the oldest of these is ever read."""


class Board:
    """A watcher, and the topics that it reads; the record with the number n was written n hours after the epoch.

    A status without a sequence is of one who does not count them.
    """

    def __init__(self, *history: Event, packages: range = range(1), **bounds: int) -> None:
        settings = StatusWatcherSettings("s", "p", **bounds)
        self.driver = DecisionDriver(StatusWatcher(settings, Random(1)))
        self.topics: dict[str, list[Record]] = {"s": [], "p": []}
        self.read: list[ReadLog] = []
        self.log_id = "L1"
        self.first = {"s": 0, "p": packages.start}
        for number in range(packages.stop):
            self.write("p", PingMessage(), number)
        for event in history:
            self.write("s", event, len(self.topics["s"]))

    def write(self, topic: str, event: Event, hour: int) -> None:
        name = getattr(event, "subscriber", "test")
        told = isinstance(event, PackageStatusMessage) and event.sequence
        record_id = f"{event.subscriber_instance}/{event.sequence}" if told else "r"
        new = new_record(event, record_id=record_id, time_ns=getattr(event, "time_ns", 0), producer=f"{name}/i1")
        self.topics[topic].append(new.at(len(self.topics[topic]), hour * HOUR))

    def serve(self) -> None:
        while effects := [each for each in self.driver.open if isinstance(each, FindBounds) or not self.waits(each)]:
            effect, *_ = effects
            self.driver.open.remove(effect)
            self.driver.feed(Done(effect, self.result(effect)))

    def waits(self, effect: object) -> bool:
        assert isinstance(effect, ReadLog)
        return effect.wait_s > 0 and effect.start == len(self.topics[effect.topic])

    def result(self, effect: object) -> TopicBounds | LogRead:
        if isinstance(effect, FindBounds):
            records, first = self.topics[effect.topic], self.first[effect.topic]
            end = PACKAGES_END if effect.topic == "p" and len(records) > first else len(records)
            return TopicBounds(self.log_id, first, end)
        assert isinstance(effect, ReadLog)
        self.read.append(effect)
        found = tuple(self.topics[effect.topic][effect.start :][: effect.max_records])
        return LogRead(self.log_id, found, effect.start + len(found))

    def ask(self, query: ErrorsQuery | None = None) -> ErrorsPage:
        self.driver.feed(query or ErrorsQuery(), Origin("gateway", 1))
        self.serve()
        _, page = self.driver.replies()[-1]
        assert isinstance(page, ErrorsPage)
        return page


def offsets(page: ErrorsPage) -> list[int]:
    return [error.offset for error in page.errors]


@pytest.mark.proves("F51", "F52", "F53")
def test_a_package_that_was_given_up_is_in_the_error_queue_of_its_subscriber_and_publisher() -> None:
    it = Board(status(3), status(1, "other"), status(2, publisher="news"), status(4, status=Status.IMPORTED))
    page = it.ask(ErrorsQuery())
    assert offsets(page) == [1, 2, 3]
    assert page.counts == (
        ErrorCount(subscriber="edge", publisher="news", size=1),
        ErrorCount(subscriber="edge", publisher="site", size=1),
        ErrorCount(subscriber="other", publisher="site", size=1),
    )
    assert offsets(it.ask(ErrorsQuery(subscriber="edge"))) == [2, 3]
    assert offsets(it.ask(ErrorsQuery(subscriber="edge", publisher="site"))) == [3]


@pytest.mark.proves("F52", "W18")
def test_a_status_that_arrives_twice_counts_once() -> None:
    it = Board(status(3, sequence=7), status(3, sequence=7), status(3, sequence=8))
    page = it.ask(ErrorsQuery())
    assert [(error.offset, error.sequence) for error in page.errors] == [(3, 8)]
    assert page.counts[0].size == 1


@pytest.mark.proves("F52", "W18")
@pytest.mark.parametrize("failure", [Status.REMOVED_FAILED, Status.HELD, Status.HOOK_FAILED])
def test_each_kind_of_failure_is_in_the_error_queue(failure: Status) -> None:
    (count,) = Board(status(3, status=failure)).ask().counts
    assert (count.size, count.held, count.hooks) == (1, failure is Status.HELD, failure is Status.HOOK_FAILED)


@pytest.mark.proves("W18")
@pytest.mark.parametrize("end", [Status.IMPORTED, Status.SKIPPED, Status.REMOVED, Status.SUPERSEDED])
def test_a_package_that_is_retried_or_dismissed_leaves_the_error_queue(end: Status) -> None:
    it = Board(status(3), status(3, status=end, sequence=2))
    assert it.ask() == ErrorsPage(errors=(), counts=(), next=2)


@pytest.mark.proves("W13", "W18", "R12")
def test_the_status_with_the_highest_sequence_holds_when_older_ones_arrive_again() -> None:
    failed, imported = status(3, sequence=4), status(3, status=Status.IMPORTED, sequence=9, time_ns=5)
    assert Board(failed, imported, failed).ask().errors == ()
    assert Board(status(3, sequence=4), status(3, sequence=9, time_ns=5), status(3, sequence=4)).ask().errors == (
        status(3, sequence=9, time_ns=5),
    )


@pytest.mark.proves("F52")
@pytest.mark.parametrize("now", [Status.IMPORTED, Status.HELD])
def test_a_status_after_the_log_was_replaced_is_not_about_the_former_package_at_its_offset(now: Status) -> None:
    former = status(3, publisher="site", sequence=4, time_ns=1)
    present = status(3, publisher="news", sequence=9, time_ns=2, status=now)
    page = Board(former, present, former).ask()
    assert [(error.publisher, error.status) for error in page.errors] == [("news", now)] * (now is Status.HELD)
    assert [count.publisher for count in page.counts] == ["news"] * (now is Status.HELD)


def test_another_instance_and_a_restored_repository_number_their_statuses_from_the_start() -> None:
    failed = status(3, sequence=9, time_ns=5)
    assert Board(failed, status(3, status=Status.IMPORTED, sequence=1, instance="i2")).ask().errors == ()
    assert Board(failed, status(3, status=Status.IMPORTED, sequence=1, time_ns=6)).ask().errors == ()


def test_a_status_repeated_by_one_of_two_hosts_does_not_undo_one_of_the_other() -> None:
    failed = status(3, sequence=4, time_ns=5)
    imported = status(3, status=Status.IMPORTED, sequence=8, time_ns=7, instance="i2")
    again = status(3, sequence=6, time_ns=9)
    assert Board(failed, imported, failed).ask().errors == ()
    assert Board(failed, imported, again, imported).ask().errors == (again,)
    assert Board(failed, again, imported, failed, again).ask().errors == ()


def test_an_import_repeated_by_one_of_two_hosts_does_not_undo_a_later_failure_of_the_other() -> None:
    imported = status(3, status=Status.IMPORTED, sequence=8, time_ns=7)
    failed = status(3, sequence=4, time_ns=9, instance="i2")
    after = status(3, status=Status.IMPORTED, sequence=9, time_ns=10)
    assert Board(imported, failed, imported).ask().errors == (failed,)
    assert Board(imported, failed, imported, after).ask().errors == ()


def test_after_a_backup_is_restored_its_new_statuses_count() -> None:
    """Even if its imports are not decoded, and if several were decided at the same time."""
    told = [status(offset, status=Status.IMPORTED, sequence=offset, time_ns=offset) for offset in range(1, 10)]
    restored = [status(offset, status=Status.IMPORTED, sequence=offset, time_ns=20) for offset in (4, 5)]
    failed = status(6, sequence=6, time_ns=20)
    settled = status(6, status=Status.IMPORTED, sequence=7, time_ns=21)
    assert Board(*told, *restored, failed, *told).ask().errors == (failed,)
    assert Board(*told, *restored, failed, settled, failed).ask().errors == ()


@pytest.mark.parametrize("log_id", ["L1", "L2"])
def test_on_another_copy_of_the_log_only_its_own_errors_count(log_id: str) -> None:
    kept, lost = status(3, sequence=4, time_ns=5), status(5, sequence=5, time_ns=6)
    it = Board(kept, lost, status(6, status=Status.IMPORTED, sequence=6, time_ns=7))
    assert offsets(it.ask()) == [3, 5]
    it.log_id, it.topics["s"] = log_id, it.topics["s"][:1]
    gone = OffsetOutOfRange("s", 3, 0, 1) if log_id == "L1" else LogReplaced("it is another one")
    it.driver.fail(ReadLog, gone)
    it.driver.tick("follow s")
    it.serve()
    assert offsets(it.ask()) == [3]
    it.write("s", lost, 9)
    it.serve()
    assert offsets(it.ask()) == [3, 5], "it is reported again: it was not known to be on the former log"


def test_without_sequence_numbers_the_last_status_holds() -> None:
    failed, imported = status(3), status(3, status=Status.IMPORTED)
    assert Board(failed, imported).ask().errors == ()
    assert Board(imported, failed, imported, failed).ask().errors == (failed,)


@pytest.mark.proves("W18")
@pytest.mark.parametrize("name", ["a", "x-error", "-error", "e" * 100])
def test_a_subscriber_of_any_name_has_its_error_queue(name: str) -> None:
    it = Board(status(3, name), status(4, "other"))
    assert offsets(it.ask(ErrorsQuery(subscriber=name))) == [3]


def test_errors_are_shown_oldest_first_even_after_a_subscriber_was_set_back() -> None:
    it = Board(status(5), status(9), status(2))
    assert offsets(it.ask(ErrorsQuery())) == [2, 5, 9]


def test_a_page_skips_and_is_limited() -> None:
    it = Board(*map(status, range(10)))
    page = it.ask(ErrorsQuery(skip=4, limit=3))
    assert (offsets(page), page.counts[0].size) == ([4, 5, 6], 10)


@pytest.mark.proves("W38")
def test_beyond_the_bound_the_oldest_errors_of_the_longest_queue_are_only_counted() -> None:
    it = Board(status(1, "other"), *map(status, range(10)), max_errors=5)
    page = it.ask()
    assert offsets(page) == [1, 6, 7, 8, 9]
    assert [(count.subscriber, count.size, count.dropped) for count in page.counts] == [("edge", 4, 6), ("other", 1, 0)]
    assert it.driver.notes().count("errors.dropped") == 6


@pytest.mark.proves("W39")
def test_nothing_is_read_before_the_first_question() -> None:
    it = Board(status(1))
    assert it.driver.effects == []


@pytest.mark.proves("W39")
def test_statuses_from_before_the_oldest_package_are_not_read() -> None:
    it = Board(*map(status, range(1000)), packages=range(900, 910))
    page = it.ask()
    assert page.errors[0].offset == 899, "an hour before the oldest package: clocks may differ"
    assert len([read for read in it.read if read.max_records == 1]) < 15
    assert min(read.start for read in it.read if read.max_records > 1) == 899


def test_without_any_package_all_statuses_are_read() -> None:
    assert offsets(Board(*map(status, range(30)), packages=range(0)).ask()) == list(range(30))


def test_all_statuses_are_read_when_the_start_cannot_be_found() -> None:
    it = Board(*map(status, range(30)), packages=range(20, 21))
    it.driver.feed(ErrorsQuery(), Origin("gateway", 7))
    it.driver.fail(FindBounds, LogUnavailable("away"))
    it.serve()
    ((origin, page),) = it.driver.replies()
    assert isinstance(page, ErrorsPage)
    assert (origin, offsets(page)) == (Origin("gateway", 7), list(range(30)))


def test_records_other_than_statuses_are_ignored() -> None:
    result = CommandResultMessage(
        subscriber_instance="i1", subscriber="edge", command_id="c", command_offset=1, accepted=True
    )
    it = Board(PingMessage(), result, status(1))
    assert offsets(it.ask()) == [1]
    assert it.driver.notes() == ["status.ignored"]


@pytest.mark.proves("W39")
def test_imports_of_subscribers_without_failures_are_not_decoded(monkeypatch: pytest.MonkeyPatch) -> None:
    opened: list[int] = []

    def counting(record: Record, expected: object) -> PackageStatusMessage:
        opened.append(record.offset)
        return open_record(record, PackageStatusMessage)

    monkeypatch.setattr(status_watcher, "open_record", counting)
    imports = [status(at, "well", sequence=at, status=Status.IMPORTED, instance="i2") for at in range(1, 101)]
    failures = [status(3, "edge", sequence=1), status(4, "edge", sequence=2, status=Status.IMPORTED)]
    assert offsets(Board(*imports[:50], *failures, *imports[50:]).ask()) == [3]
    assert opened == [50, 51]


def repeat(board: Board, number: int, read_to: int) -> None:
    """Repeat the status with this number on the topic, and remove what comes before it."""
    board.topics["s"].append(repeated(board.topics["s"][number], read_to).at(len(board.topics["s"]), 0))


@pytest.mark.proves("W38")
def test_a_failure_repeated_before_a_trim_is_in_the_error_queue() -> None:
    it = Board(status(3, sequence=1), status(4, status=Status.IMPORTED, sequence=2))
    repeat(it, 0, 2)
    it.first["s"] = 1
    assert offsets(it.ask()) == [3]


def test_a_failure_settled_while_it_was_repeated_is_in_no_error_queue() -> None:
    settled = status(3, status=Status.IMPORTED, sequence=2)
    it = Board(status(3, sequence=1), status(4, "other", status=Status.IMPORTED), settled)
    repeat(it, 0, 2)
    it.first["s"] = 2
    assert offsets(it.ask()) == []


def test_a_repeated_failure_that_was_already_read_changes_nothing() -> None:
    it = Board(status(3, sequence=1), status(3, status=Status.IMPORTED, sequence=2))
    repeat(it, 0, 2)
    assert offsets(it.ask()) == []
