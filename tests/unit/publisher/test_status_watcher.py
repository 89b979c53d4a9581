from random import Random

from callboard.actors.decision import Done, Effect, Moment, Origin, Reply, Started
from callboard.actors.effects import FindBounds, LogRead, ReadLog, TopicBounds
from callboard.actors.publisher.status_watcher import StatusWatcher, StatusWatcherSettings
from callboard.messages.distribution import PackageStatusMessage, PingMessage, Status
from callboard.messages.event import Event
from callboard.messages.headers import new_record
from callboard.messages.mailbox import ErrorCount, ErrorsPage, ErrorsQuery

NOW = Moment(0, 0.0)
FIND = FindBounds("s")


def status(
    offset: int, subscriber: str = "edge", publisher: str = "site", sequence: int = 1, status: Status | None = None
) -> PackageStatusMessage:
    return PackageStatusMessage(
        subscriber_instance="i1", subscriber=subscriber, publisher=publisher, offset=offset, sequence=sequence,
        status=Status.REMOVED_FAILED if status is None else status,
    )  # fmt: skip


def watcher(*history: Event, **bounds: int) -> StatusWatcher:
    """One that has read these statuses."""
    it = StatusWatcher(StatusWatcherSettings("s", **bounds), Random(1))
    assert list(it.receive(Started(), Origin(""), NOW)) == [FIND]
    deliver(it, *history)
    return it


def deliver(it: StatusWatcher, *history: Event) -> list[Effect]:
    (read,) = it.receive(Done(FIND, TopicBounds("L1", 0, len(history))), Origin(""), NOW)
    assert isinstance(read, ReadLog)
    new = [new_record(event, record_id="r", time_ns=0, producer="test") for event in history]
    records = tuple(
        made.at(offset, 0) for offset, made in enumerate(new)
    )
    return list(it.receive(Done(read, LogRead("L1", records, len(records))), Origin(""), NOW))


def ask(it: StatusWatcher, query: ErrorsQuery) -> ErrorsPage:
    (reply,) = it.receive(query, Origin("gateway", 1), NOW)
    assert isinstance(reply, Reply)
    assert isinstance(reply.event, ErrorsPage)
    return reply.event


def offsets(page: ErrorsPage) -> list[int]:
    return [error.offset for error in page.errors]


def test_what_was_given_up_is_in_the_error_queue_of_its_subscriber_and_publisher() -> None:
    it = watcher(status(3), status(1, "other"), status(2, publisher="news"), status(4, status=Status.IMPORTED))
    page = ask(it, ErrorsQuery())
    assert offsets(page) == [1, 2, 3]
    assert page.counts == (
        ErrorCount(subscriber="edge", publisher="news", size=1),
        ErrorCount(subscriber="edge", publisher="site", size=1),
        ErrorCount(subscriber="other", publisher="site", size=1),
    )
    assert offsets(ask(it, ErrorsQuery(subscriber="edge"))) == [2, 3]
    assert offsets(ask(it, ErrorsQuery(subscriber="edge", publisher="site"))) == [3]


def test_a_status_that_arrives_twice_counts_once() -> None:
    it = watcher(status(3), status(3), status(3, sequence=8))
    page = ask(it, ErrorsQuery())
    assert [(error.offset, error.sequence) for error in page.errors] == [(3, 8)]
    assert page.counts[0].size == 1


def test_a_package_imported_after_all_leaves_the_error_queue() -> None:
    it = watcher(status(3), status(3, status=Status.IMPORTED, sequence=2))
    assert ask(it, ErrorsQuery()) == ErrorsPage(errors=(), counts=())


def test_errors_are_shown_oldest_first_even_after_a_subscriber_was_set_back() -> None:
    it = watcher(status(5), status(9), status(2))
    assert offsets(ask(it, ErrorsQuery())) == [2, 5, 9]


def test_a_page_skips_and_is_limited() -> None:
    it = watcher(*map(status, range(10)))
    page = ask(it, ErrorsQuery(skip=4, limit=3))
    assert (offsets(page), page.counts[0].size) == ([4, 5, 6], 10)


def test_beyond_its_bound_the_oldest_errors_are_only_counted() -> None:
    it = watcher(*map(status, range(10)), max_errors=4)
    page = ask(it, ErrorsQuery())
    assert (offsets(page), page.counts[0].size) == ([6, 7, 8, 9], 10)


def test_a_question_waits_for_the_history() -> None:
    it = StatusWatcher(StatusWatcherSettings("s"), Random(1))
    list(it.receive(Started(), Origin(""), NOW))
    assert list(it.receive(ErrorsQuery(), Origin("gateway", 7), NOW)) == []
    (reply,) = (effect for effect in deliver(it, status(1)) if isinstance(effect, Reply))
    assert reply.origin == Origin("gateway", 7)


def test_what_is_no_status_is_passed_over() -> None:
    assert offsets(ask(watcher(PingMessage(), status(1)), ErrorsQuery())) == [1]
