from collections.abc import Iterable
from random import Random

import pytest

from callboard.actors.core.decision import (
    After,
    Effect,
    Input,
    Moment,
    Origin,
    PeerUp,
    Reply,
    Send,
    Started,
    Stopped,
    Stopping,
    Tick,
)
from callboard.actors.publisher.queues.queries import PAGE_MAX
from callboard.actors.publisher.queues.queue_cache import COUNTING, PATIENCE_S, QueueCache, QueueCacheSettings
from callboard.messages.distribution.publisher_mail import Counters, CountersQuery
from callboard.messages.distribution.queue_mail import (
    PackagesSeen,
    PackageSummary,
    QueuePage,
    QueueQuery,
    QueueSize,
    RangeDone,
    RangeWanted,
    Sizes,
    SizesQuery,
)
from callboard.messages.distribution.topic_messages import Kind

NOW = Moment(0, 0.0)
TAIL, HEAD = Origin("tail_poller"), Origin("older_poller")


def cache(**settings: int) -> QueueCache:
    return QueueCache(QueueCacheSettings(**settings), Random(1))


def tell(cache: QueueCache, message: Input, origin: Origin = Origin("")) -> list[Effect]:  # noqa: B008
    """Its effects, except the timer that every waiting question sets."""
    effects = cache.receive(message, origin, NOW)
    return [effect for effect in effects if not isinstance(effect, After) or effect.key != COUNTING]


def package(offset: int, publisher: str = "site", length: int = 10, kind: Kind = Kind.ADD) -> PackageSummary:
    return PackageSummary(offset=offset, time_ns=offset * 100, publisher=publisher, length=length, kind=kind)


def seen(start: int, stop: int, packages: Iterable[PackageSummary] | None = None, log_id: str = "L1") -> PackagesSeen:
    found = map(package, range(start, stop)) if packages is None else packages
    return PackagesSeen(log_id=log_id, start=start, stop=stop, packages=tuple(found))


def wanted(start: int, stop: int) -> Send:
    return Send("older_poller", RangeWanted(log_id="L1", start=start, stop=stop))


def done(start: int, stop: int, first: int = 0, problem: str = "") -> RangeDone:
    return RangeDone(log_id="L1", start=start, stop=stop, first=first, problem=problem)


def asker(number: int = 1) -> Origin:
    return Origin("gateway", number)


def page_of(effects: list[Effect]) -> QueuePage:
    (reply,) = effects
    assert isinstance(reply, Reply)
    assert isinstance(reply.event, QueuePage)
    return reply.event


def sizes_of(effects: list[Effect]) -> Sizes:
    (reply,) = effects
    assert isinstance(reply, Reply)
    assert isinstance(reply.event, Sizes)
    return reply.event


@pytest.mark.proves("F28", "F29")
def test_a_queue_begins_after_the_processed_offset() -> None:
    it = cache()
    tell(it, seen(5, 5), TAIL)
    tell(it, seen(5, 10), TAIL)
    page = page_of(tell(it, QueueQuery(after=7, publisher="site"), asker()))
    assert page.queue == QueueSize(publisher="site", after=7, size=2, length=20, oldest_ns=800, newest=9)
    assert [shown.offset for shown in page.packages] == [8, 9]


def test_the_size_of_a_page_with_offset_and_limit_is_that_of_the_whole_queue() -> None:
    it = cache()
    tell(it, seen(0, 10), TAIL)
    page = page_of(tell(it, QueueQuery(after=-1, skip=3, limit=2), asker()))
    assert page.queue.size == 10
    assert [shown.offset for shown in page.packages] == [3, 4]
    assert page_of(tell(it, QueueQuery(after=-1, skip=10), asker())).packages == ()


def test_a_page_is_never_longer_than_its_bound() -> None:
    it = cache()
    tell(it, seen(0, PAGE_MAX + 50), TAIL)
    assert len(page_of(tell(it, QueueQuery(after=-1, limit=10**6), asker())).packages) == PAGE_MAX


@pytest.mark.proves("F41")
def test_without_a_publisher_all_are_merged_by_offset() -> None:
    it = cache()
    tell(it, seen(0, 4, [package(0, "a"), package(1, "b"), package(2, "a"), package(3, "c")]), TAIL)
    assert [shown.offset for shown in page_of(tell(it, QueueQuery(after=0), asker())).packages] == [1, 2, 3]
    mine = page_of(tell(it, QueueQuery(after=-1, publisher="a"), asker()))
    assert [shown.offset for shown in mine.packages] == [0, 2]


@pytest.mark.proves("F36", "R5")
def test_test_packages_are_covered_but_never_queued() -> None:
    it = cache()
    tell(it, seen(0, 2, [package(0, kind=Kind.TEST), package(1)]), TAIL)
    assert page_of(tell(it, QueueQuery(after=-1), asker())).queue.size == 1


def test_an_undecodable_package_is_in_the_queue_of_every_publisher() -> None:
    it = cache()
    broken = PackageSummary(offset=1, time_ns=100, problem="not a package")
    tell(it, seen(0, 3, [package(0, "a"), broken, package(2, "b")]), TAIL)
    page = page_of(tell(it, QueueQuery(after=-1, publisher="b"), asker()))
    assert [shown.offset for shown in page.packages] == [1, 2]
    assert page.packages[0].problem == "not a package"
    assert sizes_of(tell(it, SizesQuery(queues=()), asker())).publishers == ("a", "b")


@pytest.mark.proves("F37", "W16", "W24")
def test_questions_wait_for_the_anchor() -> None:
    it = cache()
    assert tell(it, QueueQuery(after=3), asker(1)) == []
    assert tell(it, SizesQuery(queues=(QueueSize(publisher="site", after=4),)), asker(2)) == []
    replies = tell(it, seen(4, 4), TAIL)
    assert [reply.origin for reply in replies if isinstance(reply, Reply)] == [asker(1), asker(2)]


@pytest.mark.proves("F31", "F32", "F33")
def test_older_packages_are_requested_once_for_all_questions() -> None:
    it = cache()
    tell(it, seen(10, 10), TAIL)
    assert tell(it, QueueQuery(after=4), asker(1)) == [wanted(5, 10)]
    assert tell(it, QueueQuery(after=6), asker(2)) == []
    assert tell(it, SizesQuery(queues=(QueueSize(publisher="site", after=7),)), asker(3)) == []
    tell(it, seen(5, 8), HEAD)
    tell(it, seen(8, 10), HEAD)
    effects = tell(it, done(5, 10), HEAD)
    assert Reply(asker(3), Sizes(queues=(size_after(7, 2),), publishers=("site",), log_id="L1")) in effects
    assert wanted(5, 10) in effects, "the details of the pages"


def size_after(after: int, size: int) -> QueueSize:
    newest = after + size
    return QueueSize(
        publisher="site", after=after, size=size, length=10 * size, oldest_ns=100 * (after + 1), newest=newest
    )


@pytest.mark.proves("F34")
def test_a_question_that_reaches_further_back_is_read_for_next() -> None:
    it = cache()
    tell(it, seen(10, 10), TAIL)
    tell(it, SizesQuery(queues=(QueueSize(publisher="site", after=7),)), asker(1))
    assert tell(it, SizesQuery(queues=(QueueSize(publisher="site", after=3),)), asker(2)) == []
    tell(it, seen(8, 10), HEAD)
    effects = tell(it, done(8, 10), HEAD)
    assert effects[0] == Reply(asker(1), Sizes(queues=(size_after(7, 2),), publishers=("site",), log_id="L1"))
    assert effects[1:] == [wanted(4, 8)]


@pytest.mark.proves("F30", "F34", "W16")
def test_new_packages_arrive_while_older_ones_are_read() -> None:
    it = cache()
    tell(it, seen(10, 10), TAIL)
    tell(it, SizesQuery(queues=(QueueSize(publisher="site", after=7),)), asker())
    tell(it, seen(8, 9), HEAD)
    tell(it, seen(10, 12), TAIL)
    tell(it, seen(9, 10), HEAD)
    assert sizes_of(tell(it, done(8, 10), HEAD)).queues == (size_after(7, 4),)


def test_a_lost_piece_is_requested_again() -> None:
    it = cache()
    tell(it, seen(10, 10), TAIL)
    tell(it, SizesQuery(queues=(QueueSize(publisher="site", after=4),)), asker())
    tell(it, seen(5, 7), HEAD)
    tell(it, seen(8, 10), HEAD)
    assert tell(it, done(5, 10), HEAD) == [wanted(7, 10)]
    tell(it, seen(7, 10), HEAD)
    assert sizes_of(tell(it, done(7, 10), HEAD)).queues == (size_after(4, 5),)


def test_a_restarted_older_poller_gets_the_requests_again() -> None:
    it = cache()
    tell(it, seen(10, 12, []), TAIL)
    tell(it, QueueQuery(after=4), asker(1))
    assert tell(it, PeerUp("older_poller")) == [wanted(5, 10)]
    tell(it, seen(5, 10), HEAD)
    assert tell(it, done(5, 10), HEAD) == [wanted(5, 10)]
    assert tell(it, PeerUp("older_poller")) == [wanted(5, 10)]
    assert tell(it, PeerUp("fleet")) == []


@pytest.mark.proves("W24")
def test_an_unreadable_range_fails_all_waiting_questions_and_is_retried_for_the_next() -> None:
    it = cache()
    tell(it, seen(10, 10), TAIL)
    tell(it, QueueQuery(after=4), asker(1))
    page = page_of(tell(it, done(5, 10, first=-1, problem="down"), HEAD))
    assert page.problem == "down"
    assert tell(it, QueueQuery(after=4), asker(2)) == [wanted(5, 10)]


@pytest.mark.proves("F35", "R7")
def test_trimmed_packages_are_not_requested_twice() -> None:
    it = cache()
    tell(it, seen(10, 10), TAIL)
    assert tell(it, SizesQuery(queues=(QueueSize(publisher="site", after=-1),)), asker()) == [wanted(0, 10)]
    tell(it, seen(0, 10, map(package, range(8, 10))), HEAD)
    assert sizes_of(tell(it, done(0, 10, first=8), HEAD)).queues[0].size == 2
    assert sizes_of(tell(it, SizesQuery(queues=(QueueSize(publisher="site", after=2),)), asker())).queues[0].size == 2


@pytest.mark.proves("F40", "W38")
def test_packages_removed_by_retention_are_not_counted_after_the_next_check() -> None:
    it = cache()
    assert tell(it, Started()) == [After("retention", 60.0)]
    tell(it, seen(0, 10), TAIL)
    assert tell(it, Tick("retention")) == [After("retention", 60.0), wanted(10, 10)]
    assert tell(it, done(10, 10, first=6), HEAD) == []
    assert page_of(tell(it, QueueQuery(after=-1), asker())).queue.size == 4


def test_details_that_are_not_in_memory_are_read_for_the_page_only() -> None:
    it = cache(details_max=5)
    tell(it, seen(0, 2000), TAIL)
    query = QueueQuery(after=999, skip=100, limit=3)
    assert tell(it, query, asker(1)) == [wanted(1100, 1103)]
    tell(it, seen(1100, 1103), HEAD)
    page = page_of(tell(it, done(1100, 1103), HEAD))
    assert [shown.offset for shown in page.packages] == [1100, 1101, 1102]
    assert page.queue.size == 1000
    assert page_of(tell(it, query, asker(2))) == page, "they are held now"


def test_a_page_of_a_rare_publisher_is_read_in_small_ranges() -> None:
    it = cache(details_max=1)
    rare = {100, 110, 900}
    tell(it, seen(0, 1000, (package(n, "rare" if n in rare else "site") for n in range(1000))), TAIL)
    effects = tell(it, QueueQuery(after=-1, publisher="rare"), asker())
    assert effects == [wanted(100, 111), wanted(900, 901)]
    tell(it, seen(100, 111, [package(n, "rare") for n in (100, 110)]), HEAD)
    assert tell(it, done(100, 111), HEAD) == []
    tell(it, seen(900, 901, [package(900, "rare")]), HEAD)
    assert [shown.offset for shown in page_of(tell(it, done(900, 901), HEAD)).packages] == [100, 110, 900]


def test_a_page_leaves_out_packages_trimmed_while_it_was_read() -> None:
    it = cache(details_max=1)
    tell(it, seen(0, 10), TAIL)
    assert tell(it, QueueQuery(after=-1, limit=4), asker()) == [wanted(0, 4)]
    tell(it, seen(0, 4, [package(2), package(3)]), HEAD)
    page = page_of(tell(it, done(0, 4, first=2), HEAD))
    assert [shown.offset for shown in page.packages] == [2, 3]
    assert page.problem == ""


@pytest.mark.proves("F30", "F34", "W16")
@pytest.mark.parametrize(("problem", "told"), [("down", "down"), ("", "some packages of the page")])
def test_a_page_says_when_it_could_not_be_read(problem: str, told: str) -> None:
    it = cache(details_max=1)
    tell(it, seen(0, 10), TAIL)
    tell(it, QueueQuery(after=-1, limit=4), asker())
    page = page_of(tell(it, done(0, 4, first=-1 if problem else 0, problem=problem), HEAD))
    assert page.problem.startswith(told)
    assert page.queue.size == 10


@pytest.mark.proves("F30", "F34", "W16")
def test_the_gap_of_a_restarted_tail_poller_is_read_without_losing_the_rest() -> None:
    it = cache()
    tell(it, seen(0, 10), TAIL)
    assert tell(it, seen(15, 15), TAIL) == [wanted(10, 15)]
    assert tell(it, SizesQuery(queues=(QueueSize(publisher="site", after=7),)), asker()) == []
    tell(it, seen(10, 15), HEAD)
    assert sizes_of(tell(it, done(10, 15), HEAD)).queues == (size_after(7, 7),)


def test_a_package_sent_twice_by_the_tail_poller_counts_once() -> None:
    it = cache()
    tell(it, seen(0, 10), TAIL)
    tell(it, seen(4, 8), TAIL)
    tell(it, seen(8, 12), TAIL)
    assert page_of(tell(it, QueueQuery(after=-1), asker())).queue.size == 12


def test_another_log_empties_the_cache() -> None:
    it = cache(details_max=1)
    tell(it, seen(0, 10), TAIL)
    tell(it, QueueQuery(after=-1), asker(1))
    page = page_of(tell(it, seen(3, 3, log_id="L2"), TAIL))
    assert "replaced" in page.problem
    assert page_of(tell(it, QueueQuery(after=2), asker(2))).queue.size == 0
    assert tell(it, done(0, 10), HEAD) == [], "an answer about the old log"


def test_questions_beyond_the_bound_are_refused() -> None:
    it = cache(max_waiting=1)
    tell(it, QueueQuery(after=0), asker(1))
    assert "ask again later" in page_of(tell(it, QueueQuery(after=0), asker(2))).problem
    assert "ask again later" in sizes_of(tell(it, SizesQuery(queues=()), asker(3))).problem


def serve(it: QueueCache, effects: list[Effect], log: range) -> tuple[list[Effect], list[tuple[int, int]]]:
    """Read for the cache all that it requests; its other answers, and the ranges that were read."""
    other, ranges = [], []
    while effects:
        effect = effects.pop(0)
        if not isinstance(effect, Send) or not isinstance(effect.event, RangeWanted):
            other.append(effect)
            continue
        start, stop = effect.event.start, effect.event.stop
        ranges.append((start, stop))
        for piece in range(start, stop, 10):
            end = min(piece + 10, stop)
            effects += tell(it, seen(piece, end, [package(n) for n in range(piece, end) if n in log]), HEAD)
        effects += tell(it, done(start, stop, first=log.start), HEAD)
    return other, ranges


def entries(it: QueueCache) -> int:
    (reply,) = tell(it, CountersQuery(), asker())
    assert isinstance(reply, Reply)
    assert isinstance(reply.event, Counters)
    return {counter.name: counter.value for counter in reply.event.counters}["queue_cache_entries"]


@pytest.mark.proves("F31", "F40", "W24", "W37", "W38")
def test_a_queue_larger_than_memory_is_exact_and_memory_stays_bounded() -> None:
    it, log = cache(max_entries=64, details_max=5), range(2000)
    tell(it, seen(1990, 2000), TAIL)
    for after in (-1, 700, 1500, 1989, 3, 701):
        replies, _ = serve(it, tell(it, QueueQuery(after=after, publisher="site", skip=2, limit=3), asker()), log)
        page = page_of(replies)
        assert page.problem == ""
        assert page.queue == size_after(after, 1999 - after)
        assert [shown.offset for shown in page.packages] == [after + 3, after + 4, after + 5]
        assert entries(it) <= 64 * 17 // 16 + 64 // 4 + 64


@pytest.mark.proves("F32", "F33", "W37")
def test_the_distant_past_is_read_once_and_later_only_as_far_as_needed() -> None:
    it, log = cache(max_entries=64, details_max=5), range(2000)
    tell(it, seen(2000, 2000), TAIL)
    far = SizesQuery(queues=tuple(QueueSize(publisher="site", after=after) for after in range(-1, 1900, 100)))
    replies, ranges = serve(it, tell(it, far, asker()), log)
    assert sizes_of(replies).queues == tuple(size_after(after, 1999 - after) for after in range(-1, 1900, 100))
    assert ranges[0] == (0, 2000)
    assert all(stop - start < 64 for start, stop in ranges[1:])
    replies, ranges = serve(it, tell(it, far, asker()), log)
    assert sizes_of(replies).queues[0].size == 2000
    assert ranges == [], "where subscribers stick is remembered"


def test_packages_evicted_from_memory_stay_counted_exactly() -> None:
    it, log = cache(max_entries=64), range(1000)
    for start in range(0, 1000, 7):
        tell(it, seen(start, min(start + 7, 1000)), TAIL)
    replies, ranges = serve(it, tell(it, SizesQuery(queues=(QueueSize(publisher="site", after=-1),)), asker()), log)
    assert sizes_of(replies).queues == (size_after(-1, 1000),)
    assert ranges == []


@pytest.mark.proves("F40", "W38")
def test_packages_trimmed_in_the_distant_past_leave_the_queues() -> None:
    it = cache(max_entries=64)
    for start in range(0, 1000, 10):
        tell(it, seen(start, start + 10), TAIL)
    tell(it, done(1000, 1000, first=333), HEAD)
    for after in (-1, 100, 400):
        query = SizesQuery(queues=(QueueSize(publisher="site", after=after),))
        replies, _ = serve(it, tell(it, query, asker()), range(333, 1000))
        first = max(after + 1, 333)
        assert sizes_of(replies).queues == (
            QueueSize(
                publisher="site", after=after, size=1000 - first, length=10 * (1000 - first), oldest_ns=100 * first,
                newest=999,
            ),
        )  # fmt: skip


@pytest.mark.proves("F31")
def test_an_unreadable_block_fails_only_the_questions_that_need_it() -> None:
    it = cache(max_entries=64)
    for start in range(0, 1000, 10):
        tell(it, seen(start, start + 10), TAIL)
    (wish,) = tell(it, SizesQuery(queues=(QueueSize(publisher="site", after=100),)), asker())
    assert isinstance(wish, Send)
    assert isinstance(wish.event, RangeWanted)
    effects = tell(it, done(wish.event.start, wish.event.stop, first=-1, problem="down"), HEAD)
    assert sizes_of(effects).problem == "down"


def test_it_stops_at_once() -> None:
    assert tell(cache(), Stopping()) == [Stopped()]


LONG = 20_000


def drain(it: QueueCache, effects: list[Effect]) -> list[Effect]:
    """Read all requested ranges, each at once; the replies."""
    replies = list[Effect]()
    while effects:
        effect = effects.pop(0)
        if isinstance(effect, Send) and isinstance(effect.event, RangeWanted):
            start, stop = effect.event.start, effect.event.stop
            effects += tell(it, seen(start, stop), HEAD)
            effects += tell(it, done(start, stop), HEAD)
        else:
            replies.append(effect)
    return replies


def test_a_question_about_a_long_queue_soon_shows_its_first_packages_and_the_count_so_far() -> None:
    it = cache()
    tell(it, seen(LONG, LONG), TAIL)
    tell(it, seen(LONG, LONG + 10), TAIL)
    (counting,) = tell(it, QueueQuery(after=-1, publisher="site", limit=2), asker())
    late = Moment(0, PATIENCE_S)
    (look, *_) = it.receive(Tick(COUNTING), Origin(""), late)
    assert look == wanted(0, 500)
    tell(it, seen(0, 500), HEAD)
    page = page_of(tell(it, done(0, 500), HEAD))
    assert [shown.offset for shown in page.packages] == [0, 1]
    assert (page.queue.size, page.queue.uncounted, page.queue.oldest_ns) == (10, LONG, 0)
    drain(it, [counting])  # it is counted on
    whole = QueueSize(publisher="site", after=-1)
    (size,) = sizes_of(tell(it, SizesQuery(queues=(whole,)), asker())).queues
    assert (size.size, size.uncounted) == (LONG + 10, 0)


def test_the_sizes_of_shorter_queues_do_not_wait_for_a_long_one_to_be_counted() -> None:
    it = cache()
    tell(it, seen(LONG, LONG), TAIL)
    (far,) = tell(it, QueueQuery(after=-1), asker(1))
    assert isinstance(far, Send)
    assert isinstance(far.event, RangeWanted)
    assert far.event.start > 0
    assert tell(it, SizesQuery(queues=(QueueSize(publisher="", after=far.event.start),)), asker(2)) == []
    tell(it, seen(far.event.start, LONG), HEAD)
    near, *_ = tell(it, done(far.event.start, LONG), HEAD)
    assert sizes_of([near]).queues[0].size == LONG - far.event.start - 1


def test_sizes_that_are_not_counted_in_time_say_how_much_is_left() -> None:
    it = cache()
    tell(it, seen(LONG, LONG), TAIL)
    tell(it, seen(LONG, LONG + 10), TAIL)
    near, far = QueueSize(publisher="", after=LONG + 4), QueueSize(publisher="", after=99)
    tell(it, SizesQuery(queues=(near, far)), asker())
    reply, *_ = it.receive(Tick(COUNTING), Origin(""), Moment(0, PATIENCE_S))
    sizes = sizes_of([reply])
    assert [(queue.size, queue.uncounted) for queue in sizes.queues] == [(5, 0), (10, LONG - 100)]


def test_a_preview_of_a_queue_with_a_trimmed_head_begins_at_the_start_of_the_log() -> None:
    it = cache()
    tell(it, seen(LONG, LONG), TAIL)
    tell(it, QueueQuery(after=-1, limit=2), asker())
    (look, *_) = it.receive(Tick(COUNTING), Origin(""), Moment(0, PATIENCE_S))
    assert look == wanted(0, 500)
    (again,) = tell(it, done(0, 500, first=7000), HEAD)
    assert again == wanted(7000, 7500)
    tell(it, seen(7000, 7500), HEAD)
    page = page_of(tell(it, done(7000, 7500, first=7000), HEAD))
    assert [shown.offset for shown in page.packages] == [7000, 7001]
    assert page.queue.uncounted == LONG - 7000


def test_a_preview_leaves_out_packages_that_are_not_in_the_counted_queue() -> None:
    it = cache()
    tell(it, seen(LONG, LONG), TAIL)
    tell(it, QueueQuery(after=-1, publisher="site", limit=9), asker())
    list(it.receive(Tick(COUNTING), Origin(""), Moment(0, PATIENCE_S)))
    broken = [
        PackageSummary(offset=n, time_ns=0, length=0, publisher=name, problem="?")
        for n, name in enumerate(("other", "site", ""))
    ]
    found = [*broken, package(3, "other"), package(4, kind=Kind.TEST), package(5)]
    tell(it, seen(0, 500, found), HEAD)
    page = page_of(tell(it, done(0, 500), HEAD))
    assert [shown.offset for shown in page.packages] == [1, 2, 5]
