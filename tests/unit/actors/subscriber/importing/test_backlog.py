from callboard.actors.subscriber.importing.backlog import Backlog
from callboard.messages.distribution.mailbox import PackagesRead, PackagesWanted
from callboard.testing.drivers.subscriber_example import LOG, package


def answer(start: int, *offsets: int, log_id: str = LOG) -> PackagesRead:
    return PackagesRead(log_id=log_id, start=start, next=start + 5, records=tuple(map(package, offsets)))


def begun() -> Backlog:
    backlog = Backlog(fetch_records=3, fetch_bytes=100)
    backlog.begin(LOG, 10)
    return backlog


def asked(backlog: Backlog) -> int | None:
    """The offset requested from the poller, if any."""
    wanted = [send.event.start for send in backlog.wish() if isinstance(send.event, PackagesWanted)]
    return wanted[0] if wanted else None


def test_an_answer_to_an_outdated_request_is_dropped() -> None:
    backlog = begun()
    backlog.read(answer(5, 5, 6))
    backlog.read(answer(10, 10, log_id="former"))
    assert backlog.head is None
    backlog.read(answer(10, 10, 12))
    backlog.read(answer(10, 10, 12))
    assert [backlog.reached, backlog.head and backlog.head.offset] == [10, 10]
    backlog.drop(12)
    assert (backlog.head, backlog.reached) == (None, 15)


def test_a_new_start_position_clears_the_backlog() -> None:
    backlog = begun()
    assert asked(backlog) == 10
    backlog.read(answer(10, 10))
    backlog.begin(LOG, 30)
    assert backlog.head is None
    assert asked(backlog) == 30
    assert asked(backlog) is None
