"""How soon after its start a publisher shows an exact queue, with a million packages of history on a SQLite log.

Usage: ``python benchmarks/restart.py [--packages 200000] [--quick]``, 2 minutes; a full run has 1,000,000 packages and
takes 10, a quick one 20,000.

Each round opens the board and reads the first page of a subscriber's queue: one that is a hundred packages behind, one
ten thousand, and one the whole history. The page comes at once. The size is exact once every record of the queue was
read, which is timed as well: without a checkpoint, and with the one that the round before left. The queues of the first
and of the last, and the status, are also shown by the command line, each in a process of its own, including the start
of Python. The peer reads the same records from the bare SQLite file, and decodes none.
"""

import argparse
import asyncio
import sqlite3
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from functools import partial
from pathlib import Path

from history import announcements, put_records, small_records
from report import Report, rounds

from callboard import Callboard
from callboard.backends.logs.sqlite import SqliteLog
from callboard.messages.topics import Topics

PACKAGES, QUICK_PACKAGES = 200_000, 20_000
ROUNDS = 3
LONG = 50_000
"""A queue of this length takes so long that it is measured once."""
PAGE = 100
PIECE = 500
"""Records that the peer fetches at a time, as the publisher does."""
ANSWER_S = 600.0
GOAL_S = 1.0
TOPICS = Topics.with_prefix()
FIRST_OFFSET = 1
COMMANDS = (("queue", "near"), ("queue", "far"), ("status",))
SQL = "SELECT offset, time_ns, payload, headers FROM records WHERE offset > ? ORDER BY offset LIMIT ?"


def make(folder: Path, count: int, subscribers: dict[str, int]) -> None:
    """A log with that many packages, and subscribers that are that far behind."""

    async def body() -> None:
        log, now_ns = SqliteLog(folder), time.time_ns()
        await put_records(log, TOPICS.package, small_records(count, now_ns))
        for topic in (TOPICS.status, TOPICS.discovery, TOPICS.command, TOPICS.event):
            await log.ensure(topic)
        end, log_id = (await log.bounds(TOPICS.package)).end, await log.identity(TOPICS.package)
        stands = {name: end - 1 - behind for name, behind in subscribers.items()}
        await log.append(TOPICS.discovery, announcements(log_id, stands, now_ns))
        await log.close()

    asyncio.run(body())


def cold_s(folder: Path, name: str, behind: int, counted: list[float]) -> float:
    """The same, without a checkpoint."""
    (folder / f"{TOPICS.package}.index").unlink(missing_ok=True)
    return restarted_s(folder, name, behind, counted)


def restarted_s(folder: Path, name: str, behind: int, counted: list[float]) -> float:
    """Seconds from before the board is opened to the first page; those to the exact size go into ``counted``."""

    async def body() -> float:
        began = time.perf_counter()
        async with Callboard(f"sqlite:///{folder}") as board:
            view = await board.queue(name, limit=PAGE, timeout_s=ANSWER_S)
            took = time.perf_counter() - began
            assert len(view.items) == min(behind, PAGE)
            while not view.complete:
                view = await board.queue(name, limit=1, timeout_s=ANSWER_S)
            assert view.size == behind
            counted.append(time.perf_counter() - began)
        return took

    return asyncio.run(body())


def command_s(folder: Path, args: Sequence[str]) -> float:
    """Seconds from the command's start to its end."""
    began = time.perf_counter()
    command = [sys.executable, "-m", "callboard", "--log", f"sqlite:///{folder}", *args, "--json"]
    shown = subprocess.run(command, check=False, capture_output=True).stdout
    assert b"uncounted" not in shown or b'"uncounted": 0' in shown
    return time.perf_counter() - began


def bare_s(folder: Path, behind: int, count: int) -> float:
    """Seconds to read the same records from the file."""
    began = time.perf_counter()
    database = sqlite3.connect(f"file:{folder / TOPICS.package}.db?mode=ro", uri=True)
    after = count + FIRST_OFFSET - 1 - behind
    while rows := database.execute(SQL, (after, PIECE)).fetchall():
        after = rows[-1][0]
    database.close()
    return time.perf_counter() - began


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--packages", type=int, default=PACKAGES)
    parser.add_argument("--quick", action="store_const", dest="packages", const=QUICK_PACKAGES)
    packages, report = parser.parse_args().packages, Report("restart")
    for count in (packages // 10, packages):
        subscribers = {"near": 100, "middle": min(10_000, count), "far": count}
        counted: dict[str, list[float]] = {name: [] for name in subscribers}
        known: dict[str, list[float]] = {name: [] for name in subscribers}
        with tempfile.TemporaryDirectory() as name:
            folder = Path(name)
            make(folder, count, subscribers)
            figures = dict[str, list[float]]()
            for who, behind in subscribers.items():
                ours = partial(cold_s, folder, who, behind, counted[who])
                bare = partial(bare_s, folder, behind, count)
                times = 1 if behind > LONG else ROUNDS
                figures |= rounds(times, {who: ours, f"bare {who}": bare}, warm_up=False)
            for who, behind in subscribers.items():  # the last round above left a checkpoint
                again = partial(restarted_s, folder, who, behind, known[who])
                figures |= rounds(ROUNDS, {f"again {who}": again}, warm_up=False)
            for args in COMMANDS:
                figures |= rounds(ROUNDS, {" ".join(args): partial(command_s, folder, args)}, warm_up=False)
        for who, behind in subscribers.items():
            curve = "the whole history behind" if who == "far" else f"{behind:,} behind"
            report.point(curve, count, min(figures[who]), x_name="packages of history", y_name="s to the first page")
            if count == packages:
                what = f"{behind:,} behind, after a restart with {count:,} packages"
                report.row(f"first page of a subscriber {what}", figures[who], unit="s",
                           note=f"less is better; goal {GOAL_S:g} s")  # fmt: skip
                report.row(f"right size of the queue of one {what}", counted[who], figures[f"bare {who}"],
                           unit="s", peer_name="bare SQL", note="less is better")  # fmt: skip
                report.row(f"the same with a checkpoint, of one {what}", known[who], unit="s",
                           note=f"less is better; goal {GOAL_S:g} s")  # fmt: skip
    for args in COMMANDS:
        report.row(f"`callboard {' '.join(args)}` in a new process, with a checkpoint", figures[" ".join(args)],
                   unit="s", note=f"less is better; goal {GOAL_S:g} s")  # fmt: skip
    report.write()


if __name__ == "__main__":
    main()
