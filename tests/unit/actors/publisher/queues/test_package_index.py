from callboard.actors.publisher.queues.package_index import PackageIndex
from callboard.actors.publisher.queues.queue import Wanted
from callboard.messages.distribution.queue_mail import PackagesSeen, PackageSummary

EVERYTHING = Wanted("", -1)


def figures(it: PackageIndex, wanted: Wanted) -> tuple[int, ...]:
    queue = it.queue(wanted)
    return queue.size, queue.length, queue.oldest_ns, queue.newest, *queue.page(0, 1000)


def addressed(offset: int, *recipients: str) -> PackageSummary:
    return PackageSummary(offset=offset, time_ns=offset, publisher="site", length=10, recipients=recipients)


def index(start: int, stop: int, step: int = 1, publisher: str = "") -> PackageIndex:
    made = PackageIndex("L", start)
    packages = tuple(
        PackageSummary(offset=offset, time_ns=offset, publisher=publisher or "ab"[offset % 2], length=1)
        for offset in range(start, stop, step)
    )
    made.add(PackagesSeen(log_id="L", start=start, stop=stop, packages=packages))
    return made


def test_a_distant_page_holds_the_packages_after_the_skipped_ones_of_any_publisher() -> None:
    queue = index(0, 1000, step=3).queue(EVERYTHING)
    assert queue.page(200, 3) == (600, 603, 606)
    assert queue.page(0, 2) == (0, 3)
    assert queue.page(333, 5) == (999,)
    assert queue.page(334, 5) == ()


def test_an_index_cut_in_two_can_be_joined_again() -> None:
    it = index(0, 100)
    older = it.cut(70)
    assert (len(it), it.start, it.stop, it.queue(EVERYTHING).page(0, 1)) == (30, 70, 100, (70,))
    assert (len(older), older.start, older.stop, older.queue(Wanted("a", 9)).length) == (70, 0, 70, 30)
    it.prepend(older)
    for queue in (Wanted("b", -1), Wanted("b", 40, "edge")):
        assert figures(it, queue) == figures(index(0, 100), queue)
    it.cut(100)
    assert (len(it), it.start, it.publishers) == (0, 100, ())


def test_trimming_inside_the_range_leaves_no_older_part_uncovered() -> None:
    it = index(50, 100)
    it.trim(40)
    assert (len(it), it.start) == (50, 50)
    it.trim(60)
    assert (len(it), it.start) == (40, 0)


def test_an_older_index_joins_with_all_its_publishers() -> None:
    it, older = index(10, 20), index(0, 10, publisher="c")
    it.prepend(older)
    assert (len(it), it.start, it.publishers) == (20, 0, ("a", "b", "c"))
    assert it.queue(Wanted("", 4)).size == 15


def test_a_queue_has_packages_for_all_and_for_its_subscriber_each_once() -> None:
    it = PackageIndex("L", 0)
    packages = (addressed(0), addressed(1, "a"), addressed(2, "b", "a"), addressed(3, "b"), addressed(4))
    it.add(PackagesSeen(log_id="L", start=0, stop=5, packages=packages))
    for subscriber, offsets in {"a": (0, 1, 2, 4), "b": (0, 2, 3, 4), "c": (0, 4), "": (0, 1, 2, 3, 4)}.items():
        for publisher in ("", "site"):
            queue = it.queue(Wanted(publisher, -1, subscriber))
            assert (queue.size, queue.length, queue.page(0, 9)) == (len(offsets), 10 * len(offsets), offsets)
            later = tuple(offset for offset in offsets if offset > 1)
            assert it.queue(Wanted(publisher, 1, subscriber)).page(1, 1) == later[1:2]


def test_invalid_recipients_are_read_as_subscribers_read_them() -> None:
    it = PackageIndex("L", 0)
    it.add(PackagesSeen(log_id="L", start=0, stop=2, packages=(addressed(0, "a", "a", ""), addressed(1, ""))))
    assert [it.queue(Wanted("", -1, name)).page(0, 9) for name in ("a", "b", "")] == [(0,), (), (0, 1)]


def test_a_package_for_many_subscribers_counts_for_each_and_is_removed_for_all() -> None:
    it = PackageIndex("L", 0)
    many = tuple(f"edge-{number}" for number in range(100))
    packages = (addressed(0), addressed(1, *many), addressed(2, "edge-7"), addressed(3))
    it.add(PackagesSeen(log_id="L", start=0, stop=4, packages=packages))
    whole = figures(it, Wanted("", -1, "edge-7"))
    assert len(it) == 1 + 101 + 2 + 1
    older = it.cut(50)
    assert (older.stop, it.start, len(older), len(it)) == (2, 2, 102, 3)
    it.prepend(older)
    assert figures(it, Wanted("", -1, "edge-7")) == whole
    it.trim(2)
    assert figures(it, Wanted("", -1, "edge-8"))[-1:] == (3,)
