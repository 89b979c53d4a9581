from callboard.actors.publisher.package_index import PackageIndex
from callboard.messages.mailbox import PackagesSeen, PackageSummary


def index(start: int, stop: int, step: int = 1, publisher: str = "") -> PackageIndex:
    made = PackageIndex("L", start)
    packages = tuple(
        PackageSummary(offset=offset, time_ns=offset, publisher=publisher or "ab"[offset % 2], length=1)
        for offset in range(start, stop, step)
    )
    made.add(PackagesSeen(log_id="L", start=start, stop=stop, packages=packages))
    return made


def test_a_far_page_holds_what_lies_behind_those_skipped_whatever_their_publisher() -> None:
    queue = index(0, 1000, step=3).queue("", -1)
    assert queue.page(200, 3) == (600, 603, 606)
    assert queue.page(0, 2) == (0, 3)
    assert queue.page(333, 5) == (999,)
    assert queue.page(334, 5) == ()


def test_cutting_off_the_oldest_gives_two_ranges_that_join_again() -> None:
    it = index(0, 100)
    older = it.cut(70)
    assert (len(it), it.start, it.stop, it.queue("", -1).page(0, 1)) == (30, 70, 100, (70,))
    assert (len(older), older.start, older.stop, older.size("a", 9).length) == (70, 0, 70, 30)
    it.prepend(older)
    assert it.size("b", -1) == index(0, 100).size("b", -1)
    it.cut(100)
    assert (len(it), it.start, it.publishers) == (0, 100, ())


def test_trimming_inside_the_range_leaves_nothing_older_uncovered() -> None:
    it = index(50, 100)
    it.trim(40)
    assert (len(it), it.start) == (50, 50)
    it.trim(60)
    assert (len(it), it.start) == (40, 0)


def test_an_older_index_joins_with_all_its_publishers() -> None:
    it, older = index(10, 20), index(0, 10, publisher="c")
    it.prepend(older)
    assert (len(it), it.start, it.publishers) == (20, 0, ("a", "b", "c"))
    assert it.size("", 4).size == 15
