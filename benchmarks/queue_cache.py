"""The cost of a million packages in the queue cache, and of a queue over them.

Usage: ``python benchmarks/queue_cache.py [--packages 1000000] [--quick]``, half a minute; a quick run has 100,000.
"""

import argparse
import itertools
import time
import tracemalloc
from collections.abc import Iterator
from random import Random

from report import Report, rounds

from callboard.actors.core.decision import Effect, Input, Moment, Origin, Reply, Send
from callboard.actors.publisher.queues.package_index import PackageIndex
from callboard.actors.publisher.queues.queue_cache import QueueCache, QueueCacheSettings
from callboard.messages.distribution.queue_mail import (
    PackagesSeen,
    PackageSummary,
    QueueQuery,
    QueueSize,
    RangeDone,
    RangeWanted,
    Sizes,
    SizesQuery,
)

PIECE = 500
VIEWS = 100
ROUNDS = 5
SMALL = 10_000
PUBLISHERS = ("site", "news", "shop")
NOW = Moment(0, 0.0)
TAIL, HEAD, ASKER = Origin("tail_poller"), Origin("older_poller"), Origin("gateway", 1)


def package(offset: int) -> PackageSummary:
    return PackageSummary(
        offset=offset,
        time_ns=offset,
        publisher=PUBLISHERS[offset % 3],
        package_id=f"{offset:032x}",
        length=10_000,
        paths=(f"/content/site/page-{offset}",),
    )


def pieces(count: int) -> Iterator[PackagesSeen]:
    for start in range(0, count, PIECE):
        stop = min(start + PIECE, count)
        yield PackagesSeen(log_id="L", start=start, stop=stop, packages=tuple(map(package, range(start, stop))))


def tell(cache: QueueCache, message: Input, origin: Origin) -> list[Effect]:
    return list(cache.receive(message, origin, NOW))


def filled(count: int) -> QueueCache:
    cache = QueueCache(QueueCacheSettings(), Random(1))
    for piece in pieces(count):
        tell(cache, piece, TAIL)
    return cache


def bytes_per_entry(count: int) -> float:
    index = PackageIndex("L", 0)
    for piece in pieces(count):
        index.add(piece)
    return index.nbytes / count


def bytes_per_object(count: int) -> float:
    tracemalloc.start()
    held = {offset: package(offset) for offset in range(count)}
    size, _ = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    return size / len(held)


def views_per_s(cache: QueueCache, count: int) -> float:
    """Open each view and read its size, length, oldest and newest package."""
    spots = [Random(number).randrange(count) for number in range(VIEWS)]
    queries = [SizesQuery(queues=(QueueSize(publisher=PUBLISHERS[spot % 3], after=spot),)) for spot in spots]
    started = time.perf_counter()
    for query in queries:
        (reply,) = tell(cache, query, ASKER)
        assert isinstance(reply, Reply)
        assert isinstance(reply.event, Sizes)
    return VIEWS / (time.perf_counter() - started)


def walks_per_s(packages: list[PackageSummary]) -> float:
    """The same by walking over a plain list of packages."""
    spot = len(packages) // 2
    started = time.perf_counter()
    found = [one for one in packages if one.offset > spot and one.publisher == "site"]
    assert sum(one.length for one in found)
    return 1 / (time.perf_counter() - started)


def held_page_ms(cache: QueueCache, count: int) -> float:
    started = time.perf_counter()
    (reply,) = tell(cache, QueueQuery(after=count - 1000, publisher="site", limit=100), ASKER)
    assert isinstance(reply, Reply)
    return (time.perf_counter() - started) * 1000


def fetched_page_ms(cache: QueueCache, after: int) -> float:
    """Without the time that the log takes to read the records."""
    started = time.perf_counter()
    (wish,) = tell(cache, QueueQuery(after=after, publisher="site", limit=100), ASKER)
    assert isinstance(wish, Send)
    assert isinstance(wish.event, RangeWanted)
    start, stop = wish.event.start, wish.event.stop
    read = PackagesSeen(log_id="L", start=start, stop=stop, packages=tuple(map(package, range(start, stop))))
    tell(cache, read, HEAD)
    (reply,) = tell(cache, RangeDone(log_id="L", start=start, stop=stop, first=0), HEAD)
    assert isinstance(reply, Reply)
    return (time.perf_counter() - started) * 1000


def main(count: int) -> None:
    report = Report("queue_cache")
    report.row(
        f"memory of {count:,} packages", [bytes_per_entry(count)], [bytes_per_object(SMALL)],
        unit="bytes an entry", peer_name="frozen objects", note="less is better; goal 32, slack included",
    )  # fmt: skip
    started = time.perf_counter()
    big = filled(count)
    report.row("load from the tail", [count / (time.perf_counter() - started)], unit="packages/s")
    small, plain = filled(SMALL), [package(offset) for offset in range(SMALL)]
    figures = rounds(
        ROUNDS,
        {
            "big": lambda: views_per_s(big, count),
            "small": lambda: views_per_s(small, SMALL),
            "walk": lambda: walks_per_s(plain),
        },
    )
    report.row(
        f"open and size one of {VIEWS} views over {count:,}", [1000 / figure for figure in figures["big"]],
        unit="ms", note="less is better; goal 1",
    )  # fmt: skip
    report.row(
        f"views over {count:,} beside {SMALL:,}", figures["big"], figures["small"],
        unit="views/s", peer_name=f"{SMALL:,}", goal=0.5, note="flat growth is 1",
    )  # fmt: skip
    report.row(
        f"views over {SMALL:,} beside walking", figures["small"], figures["walk"],
        unit="views/s", peer_name="plain list", goal=5,
    )  # fmt: skip
    spots = itertools.count(0, 1000)
    pages = rounds(
        ROUNDS,
        {"held": lambda: held_page_ms(big, count), "fetched": lambda: fetched_page_ms(big, next(spots))},
    )
    report.row("first page of 100, details held", pages["held"], unit="ms", note="less is better; goal 1")
    report.row("first page of 100, read back", pages["fetched"], unit="ms", note="besides one read of the log")
    report.write()


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--packages", type=int, default=1_000_000)
    parser.add_argument("--quick", action="store_const", dest="packages", const=100_000)
    main(parser.parse_args().packages)
