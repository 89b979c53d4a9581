"""The cost of reading the queues of 100 subscribers over a long history, from a running publisher.

Usage: ``python benchmarks/queue_reads.py [--packages 200000] [--quick]``, 1 minute; a full run has 1,000,000 packages
and takes 4, a quick one 20,000.

Subscribers have positions at even distances over the history. Each query is mailed to the publisher's actors, as those
of a board are. The peer queries the SQLite log itself, which has the packages in a table but neither their publisher
nor their size, so it only counts them, or fetches their records.
"""

import argparse
import asyncio
import math
import sqlite3
import statistics
import tempfile
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from random import Random

from history import PUBLISHER, put_records, small_records
from queue_cache import bytes_per_entry
from report import Report, rounds

from callboard import Callboard
from callboard.actors.core.agent import Agent
from callboard.actors.publisher import roles
from callboard.backends.logs.sqlite import SqliteLog
from callboard.messages.distribution.queue_mail import QueuePage, QueueQuery, QueueSize, Sizes, SizesQuery
from callboard.messages.event import Event
from callboard.messages.topics import Topics

PACKAGES, QUICK_PACKAGES = 200_000, 20_000
SUBSCRIBERS, PAGE = 100, 100
ROUNDS = 3
QUESTIONS = 200
"""Queries of each kind, per round."""
TOPIC = Topics.with_prefix().package
ANSWER_S = 600.0
SQL_COUNT = "SELECT count(*) FROM records WHERE offset > ?"
SQL_PAGE = "SELECT offset, time_ns, payload, headers FROM records WHERE offset > ? ORDER BY offset LIMIT 100 OFFSET ?"

Ask = Callable[[int], Event]


def sizes(after: int) -> Event:
    return SizesQuery(queues=(QueueSize(publisher=PUBLISHER, after=after),))


def page(after: int, skip: int = 0) -> Event:
    return QueueQuery(after=after, publisher=PUBLISHER, skip=skip, limit=PAGE)


class Reads:
    """The same queries, to the publisher and to the bare log."""

    def __init__(self, run: asyncio.Runner, agent: Agent, database: sqlite3.Connection, count: int) -> None:
        self._run, self._agent, self._database = run, agent, database
        self._spots = Random(1)
        self._stands = [1 + count * number // SUBSCRIBERS for number in range(SUBSCRIBERS)]
        self.took_ms: dict[str, list[float]] = {}

    def ours(self, name: str, ask: Ask, size: int) -> float:
        """Median milliseconds for queues with at least that many packages."""
        return self._run.run(self._ours(name, ask, self._positions(size)))

    async def _ours(self, name: str, ask: Ask, positions: list[int]) -> float:
        times = []
        for position in positions:
            began = time.perf_counter()
            answer = await self._agent.ask(roles.QUEUE_CACHE, ask(position), ANSWER_S)
            times.append((time.perf_counter() - began) * 1000)
            assert isinstance(answer, QueuePage | Sizes)
            assert not answer.problem
            assert isinstance(answer, Sizes) or len(answer.packages) == PAGE
        self.took_ms.setdefault(name, []).extend(times)
        return statistics.median(times)

    def bare(self, query: str, arguments: tuple[int, ...], size: int) -> float:
        """The same from the log, by this SQL."""
        times = []
        for position in self._positions(size)[:: QUESTIONS // 10]:  # some are slow
            began = time.perf_counter()
            assert self._database.execute(query, (position, *arguments)).fetchall()
            times.append((time.perf_counter() - began) * 1000)
        return statistics.median(times)

    def _positions(self, size: int) -> list[int]:
        """The position of a random subscriber among those with queues that long."""
        last = self._stands[-1]
        far = [stand for stand in self._stands if last - stand >= size] or self._stands[:1]
        return [self._spots.choice(far) for _ in range(QUESTIONS)]

    def p99_ms(self, name: str) -> float:
        """The 99th percentile of all rounds, warm-up included."""
        times = sorted(self.took_ms[name])
        return times[math.ceil(len(times) * 0.99) - 1]


async def counted(agent: Agent) -> None:
    """Wait until the whole history is in memory; an answer says how much is missing."""
    left = 1
    while left:
        answer = await agent.ask(roles.QUEUE_CACHE, sizes(-1), ANSWER_S)
        assert isinstance(answer, Sizes)
        left = answer.queues[0].uncounted


def measure(report: Report, run: asyncio.Runner, folder: Path, count: int, tell: bool) -> None:
    log = SqliteLog(folder)
    run.run(put_records(log, TOPIC, small_records(count, time.time_ns())))
    run.run(log.close())
    board = Callboard(f"sqlite:///{folder}")
    run.run(board.__aenter__())
    agent = run.run(board.publisher("looker").start())
    database = sqlite3.connect(f"file:{folder / TOPIC}.db?mode=ro", uri=True)
    reads, middle = Reads(run, agent, database, count), count // 2
    began = time.perf_counter()
    run.run(counted(agent))
    loaded_s = time.perf_counter() - began
    questions = {
        "size": ("the size of a queue", sizes, SQL_COUNT, (), 0),
        "first": (f"its first {PAGE} packages", page, SQL_PAGE, (0,), count // SUBSCRIBERS),
        "middle": (f"{PAGE} from its {middle:,}th on", partial(page, skip=middle), SQL_PAGE, (middle,), middle + PAGE),
    }
    for name, (what, ask, query, arguments, size) in questions.items():
        figures = rounds(
            ROUNDS,
            {"ours": partial(reads.ours, name, ask, size), "bare": partial(reads.bare, query, arguments, size)},
        )
        p99_ms = reads.p99_ms(name)
        curve = what.replace(f"{middle:,}th", "middle")
        report.point(curve, count, p99_ms, x_name="packages", y_name="ms, 99th percentile")
        if tell:
            report.row(f"{what}, {count:,} packages, {SUBSCRIBERS} subscribers", figures["ours"], figures["bare"],
                       unit="ms", peer_name="bare SQL", note=f"less is better; 99% within {p99_ms:.3g} ms")  # fmt: skip
    entry_bytes = bytes_per_entry(count)
    report.point("bytes an entry", count, entry_bytes, x_name="packages", y_name="bytes of memory")
    if tell:
        report.row("read all of it into memory", [count / loaded_s], unit="packages/s", note=f"{loaded_s:.1f} s, once")
        report.row("memory", [entry_bytes], unit="bytes an entry", note="goal 32")
    database.close()
    run.run(board.close())


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--packages", type=int, default=PACKAGES)
    parser.add_argument("--quick", action="store_const", dest="packages", const=QUICK_PACKAGES)
    packages, report = parser.parse_args().packages, Report("queue_reads")
    with asyncio.Runner() as run:
        for count in (packages // 10, packages):
            with tempfile.TemporaryDirectory() as folder:
                measure(report, run, Path(folder), count, tell=count == packages)
    report.write()


if __name__ == "__main__":
    main()
