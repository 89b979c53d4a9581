"""The pages of every listing are, one after the other, the whole listing; and a cursor leads into no other one."""

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import replace
from functools import partial
from itertools import chain
from random import Random
from typing import Any

import pytest

from callboard import Callboard
from callboard.actors.publisher.errors import status_watcher
from callboard.backends.log import Bounds, Retention
from callboard.backends.logs.memory import MemoryLog
from callboard.board.page import Page
from callboard.board.read.log.log_search import RecordFilter, listed
from callboard.board.read.queues import queue_pages, queues
from callboard.door.cursors import Place, cursor_at
from callboard.messages.distribution.fleet_mail import Liveness, Member
from callboard.messages.distribution.queue_mail import PackageSummary, QueuePage, QueueSize, Sizes, SizesQuery
from callboard.messages.distribution.topic_messages import DiscoveryMessage, Status, SubscriberConfiguration
from callboard.messages.record import NewRecord
from tests.refused import refused
from tests.unit.board.status.conftest import Board

Ask = Callable[[Board, str, int], Awaitable[Page[Any]]]

SUBSCRIBERS = {"all": (), "some": ("site", "shop")}
"""What each follows."""


def of_queue(name: str) -> Ask:
    return lambda board, cursor, limit: queues.queue(board.context, name, cursor=cursor, limit=limit)


def of_errors(board: Board, cursor: str, limit: int) -> Awaitable[Page[Any]]:
    return queues.errors(board.context, cursor=cursor, limit=limit)


def of_log(board: Board, cursor: str, limit: int) -> Awaitable[Page[Any]]:
    start = None if cursor else 1
    return listed(board.log, board.topics.package, RecordFilter(), limit, 0, cursor=cursor, start=start)


def of_newest(board: Board, cursor: str, limit: int) -> Awaitable[Page[Any]]:
    return listed(board.log, board.topics.package, RecordFilter(), limit, 0, cursor=cursor)


LISTINGS: dict[str, Ask] = {
    "queue": of_queue("all"), "queue of some": of_queue("some"), "errors": of_errors, "log": of_log,
    "newest": of_newest,
}  # fmt: skip


def page(board: Board, ask: Ask, cursor: str = "", limit: int = 100) -> Page[Any]:
    found: Page[Any] = board.simulation.run(ask(board, cursor, limit))
    return found


def pages(board: Board, ask: Ask, limit: int, between: Callable[[], object]) -> list[Page[Any]]:
    found = [page(board, ask, limit=limit)]
    while found[-1].cursor:
        assert len(found) < 200
        between()
        found.append(page(board, ask, found[-1].cursor, limit))
    return found


def what(items: Any) -> list[tuple[int, str]]:
    return [(item.offset, getattr(item, "subscriber", "")) for item in items]


def fill(board: Board, rng: Random, count: int) -> None:
    """Packages of three publishers, and failures of some at both subscribers."""
    for _ in range(count):
        offset = board.package(rng.choice(["site", "shop", "news"]))
        for name in SUBSCRIBERS:
            if rng.random() < 0.6:
                board.tell(name, offset, rng.choice([Status.HELD, Status.REMOVED_FAILED]), "no space")
    board.pass_time(1)  # the statuses are read


def filled(board: Board, rng: Random) -> None:
    fill(board, rng, 3)
    for name, follows in SUBSCRIBERS.items():
        board.announce(name, 1, follows=follows)
    fill(board, rng, 9)


@pytest.mark.parametrize("listing", LISTINGS)
def test_pages_of_any_size_add_up_to_the_whole_in_order_while_records_are_appended(board: Board, listing: str) -> None:
    rng, ask = Random(listing), LISTINGS[listing]
    filled(board, rng)
    for limit in range(1, 15):
        before = what(page(board, ask, limit=1000).items)
        found = pages(board, ask, limit, lambda: fill(board, rng, rng.randrange(2)))
        parts = [what(each.items) for each in (reversed(found) if listing == "newest" else found)]
        whole = what(page(board, ask, limit=1000).items)
        assert [*chain.from_iterable(parts)] == (before if listing == "newest" else whole)
        assert all(each.complete and len(each.items) <= limit for each in found)
        assert all(len(each) > 0 for each in parts), "no page is empty"
        assert found[0].size in (-1, len(before))


@pytest.mark.parametrize("listing", ["queue", "queue of some", "log", "newest"])
def test_a_page_after_a_trim_says_what_is_missing(board: Board, listing: str) -> None:
    ask = LISTINGS[listing]
    filled(board, Random(1))
    whole, first = what(page(board, ask).items), page(board, ask, limit=3)
    last = first.items[0 if listing == "newest" else -1].offset
    board.trim(below=7)
    second = page(board, ask, first.cursor)
    start, end = (1, 6) if listing == "newest" else (last + 1, 6)
    assert second.missing == f"offsets {start} to {end} are no longer on the log"
    assert not second.complete
    later = [each for each in whole if (each[0] < last if listing == "newest" else each[0] > last)]
    assert what(second.items) == [each for each in later if each[0] > 6]


def test_a_page_says_that_all_the_rest_was_trimmed(board: Board) -> None:
    filled(board, Random(1))
    first = page(board, of_newest, limit=3)
    board.trim(below=first.items[-1].offset)
    rest = page(board, of_newest, first.cursor)
    assert (rest.items, rest.cursor) == ((), "")
    assert rest.missing == f"offsets 1 to {first.items[0].offset - 1} are no longer on the log"


def test_failures_that_do_not_fit_in_memory_are_reported_as_missing(board: Board, monkeypatch: Any) -> None:
    few = partial(status_watcher.StatusWatcherSettings, max_errors=4)
    monkeypatch.setattr(status_watcher, "StatusWatcherSettings", few)
    for _ in range(10):
        board.tell("edge-1", board.package(), Status.HELD)
    found = pages(board, of_errors, 3, lambda: None)
    assert {each.missing for each in found} == {
        "6 older ones are only on the log; see `callboard log list --topic status`"
    }
    assert ([len(each.items) for each in found], found[0].size) == ([3, 1], 4)


@pytest.mark.parametrize("listing", LISTINGS)
def test_packages_settled_between_two_pages_do_not_shift_the_others(board: Board, listing: str) -> None:
    ask = LISTINGS[listing]
    filled(board, Random(2))
    whole, first = what(page(board, ask).items), page(board, ask, limit=4)
    for offset, name in what(first.items):
        board.tell(name or "all", offset, Status.IMPORTED)
    rest = what(page(board, ask, first.cursor).items)
    assert rest == [each for each in whole if each not in what(first.items)]


CURSORS = ["x", "x.y", ".", "x" * 900, "\0", "é", "1.2.3.4.5.6", "٣.٣.٣.٣.٣.٣"]


@pytest.mark.parametrize("listing", LISTINGS)
def test_an_invalid_cursor_is_refused(board: Board, listing: str) -> None:
    ask = LISTINGS[listing]
    filled(board, Random(3))
    right = page(board, ask, limit=2).cursor
    for number in range(len(right)):
        wrong = right[:number] + ("1" if right[number] != "1" else "2") + right[number + 1 :]
        with refused("invalid"):
            page(board, ask, wrong)
    for cursor in (*CURSORS, right[:-1], right + "0", right + " "):
        with refused("invalid"):
            page(board, ask, cursor)
    for other in LISTINGS.values() if listing not in ("log", "newest") else [of_errors, of_queue("some")]:
        if other is not ask:
            with refused("mismatch"):
                page(board, ask, page(board, other, limit=2).cursor)


def test_a_cursor_of_another_log_and_one_beyond_the_end_are_refused() -> None:
    async def scenario() -> None:
        cursors = []
        for _ in range(2):
            log = MemoryLog()
            await log.ensure("t")
            await log.append("t", [NewRecord(payload=b"", headers=())] * 3)
            cursors.append((await listed(log, "t", RecordFilter(), 1, 0)).cursor)
        with refused("mismatch"):
            await listed(log, "t", RecordFilter(), 1, 0, cursor=cursors[0])
        with refused("mismatch"):
            await listed(log, "t", RecordFilter(kind="add"), 1, 0, cursor=cursors[1])
        listing = "log", "t", repr(RecordFilter())
        with refused("out_of_range"):
            beyond = cursor_at(Place(99, first=0), listing, await log.identity("t"))
            await listed(log, "t", RecordFilter(), 1, 0, cursor=beyond)
        await log.trim("t", Retention(below_offset=99))
        assert (await listed(log, "t", RecordFilter(), 1, 0, cursor=cursors[1])).items == ()

    asyncio.run(scenario())


def test_a_board_refuses_a_cursor_with_its_error_code() -> None:
    async def scenario() -> None:
        async with Callboard("memory:") as board:
            for wrong in ("nonsense", cursor_at(Place(0), ("errors", "", ""), "another")):
                with refused("invalid" if wrong == "nonsense" else "mismatch"):
                    await board.errors(cursor=wrong)

    asyncio.run(scenario())


class Previews:
    """An agent whose queues are still being counted: it shows the first packages of each."""

    def __init__(self, shown: dict[str, list[int]]) -> None:
        self.shown = shown

    async def ask(self, _: str, question: Any, __: float) -> Any:
        if isinstance(question, SizesQuery):
            return Sizes(queues=tuple(replace(queue, size=1, newest=900, uncounted=500) for queue in question.queues))
        packages = tuple(
            PackageSummary(offset=offset, time_ns=1)
            for offset in self.shown[question.publisher]
            if offset > question.after
        )
        queue = QueueSize(publisher=question.publisher, after=question.after, size=1, newest=900, uncounted=500)
        return QueuePage(queue=queue, packages=packages[: question.limit])


@pytest.mark.parametrize(
    ("shown", "items"),
    [
        ({"site": [1, 4, 7], "shop": [2]}, [1, 2]),
        ({"site": [1, 4, 7], "shop": []}, []),
        ({"site": [1, 4, 7], "shop": [2, 3, 5]}, [1, 2, 3]),
    ],
)
def test_a_page_of_several_queues_ends_where_one_of_them_is_unknown(
    shown: dict[str, list[int]], items: list[int]
) -> None:
    announcement = DiscoveryMessage(
        subscriber_instance="i", subscriber="edge", offset=0,
        configuration=SubscriberConfiguration(editable=True, max_retries=-1, follows=("site", "shop")),
    )  # fmt: skip
    member = Member(announcement=announcement, liveness=Liveness.LIVE, seen_ns=1)
    asking = queue_pages.page(Previews(shown), member, "", Bounds(1, 901), 1, limit=3)
    assert [package.offset for package in asyncio.run(asking).packages] == items
