from callboard.actors.subscriber.importing.backlog import Backlog
from callboard.messages.distribution.mailbox import PackagesRead
from callboard.testing.drivers.subscriber_example import LOG, package


def answer(start: int, *offsets: int, log_id: str = LOG) -> PackagesRead:
    return PackagesRead(log_id=log_id, start=start, next=start + 5, records=tuple(map(package, offsets)))


def begun() -> Backlog:
    backlog = Backlog(fetch_records=3, fetch_bytes=100)
    backlog.begin(LOG, 10)
    return backlog


def test_an_answer_to_a_wish_of_the_past_is_dropped() -> None:
    backlog = begun()
    backlog.read(answer(5, 5, 6))
    backlog.read(answer(10, 10, log_id="former"))
    assert backlog.head is None
    backlog.read(answer(10, 10, 12))
    backlog.read(answer(10, 10, 12))
    assert [backlog.reached, backlog.head and backlog.head.offset] == [10, 10]
    backlog.drop(12)
    assert (backlog.head, backlog.reached) == (None, 15)


def test_a_new_beginning_forgets_everything() -> None:
    backlog = begun()
    backlog.wish()
    backlog.read(answer(10, 10))
    backlog.begin(LOG, 30)
    assert backlog.head is None
    wish = backlog.wish()
    assert wish is not None
    assert wish.start == 30
    assert backlog.wish() is None
