"""What does it cost to publish a large site of which little has changed?

Usage: ``python benchmarks/what_changed.py [--quick]``, ten minutes. A site of 100,000 files of about 600 bytes is
published to a SQLite log: the first time; then with ten files changed since; then with none; each time by a new
process. The second publish, which reads all files to compare them, is measured by itself. Beside it ``rsync -a
--delete`` of the same folder to another one on the same disk, which has to look at both. What ours sends is on the log
then, for any number of subscribers; rsync has served one.
"""

import os
import random
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from resource import RUSAGE_CHILDREN, getrusage

from report import Report, quick, rounds

FILES = 10_000 if quick() else 100_000
CHANGED = 10
ROUNDS = 3


def make(site: Path) -> list[Path]:
    """The files of the site, a hundred in a folder."""
    rng, files = random.Random(1), []
    for number in range(FILES):
        file = site / f"d{number // 10_000}" / f"s{number // 100 % 100}" / f"page{number % 100}.html"
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(f"<p>{number}</p>" + " ".join(str(rng.random()) for _ in range(30)))
        files.append(file)
    return files


def timed(words: list[str], folder: Path, processor: list[float] | None = None) -> float:
    """Seconds that a command takes in a process of its own; those of the processor are added to the list."""
    environ = os.environ | {"XDG_CACHE_HOME": str(folder / "cache")}
    before, begun = getrusage(RUSAGE_CHILDREN), time.perf_counter()
    subprocess.run(words, cwd=folder, env=environ, check=True, capture_output=True)
    took, after = time.perf_counter() - begun, getrusage(RUSAGE_CHILDREN)
    if processor is not None:
        processor.append(after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime)
    return took


def after(change: Callable[[], None], words: list[str], folder: Path, processor: list[float]) -> Callable[[], float]:
    def once() -> float:
        change()
        return timed(words, folder, processor)

    return once


def log_bytes(folder: Path) -> int:
    return sum(file.stat().st_size for file in (folder / "board.db").rglob("*") if file.is_file())


def measure(report: Report, folder: Path) -> None:
    files, rng = make(folder / "site"), random.Random(2)

    def edit() -> None:
        for file in rng.sample(files, CHANGED):
            file.write_text(f"<p>{rng.random()}</p>" * 30)
        time.sleep(3)  # a file that has just changed is read once more the next time

    callboard = [sys.executable, "-m", "callboard"]
    ours = [*callboard, "publish", "./site"]
    peer = [shutil.which("rsync") or "", "-a", "--delete", "./site/", "./copy/"]
    timed([*callboard, "init"], folder)
    whose = f"{FILES:,} files"
    first, second = timed(ours, folder), timed(ours, folder)
    copied = timed(peer, folder) if peer[0] else None
    report.row(f"{whose}, the first time", [first], [copied] if copied else [], unit="s", peer_name="rsync",
               note="less is better")  # fmt: skip
    report.row(f"{whose}, all compared by content", [second], unit="s", note="less is better")
    for what, change in ((f"{CHANGED} changed", edit), ("none changed", lambda: None)):
        if change is edit:
            edit()
            timed(ours, folder)  # the folders are known by their times from here on
        there = log_bytes(folder)
        processor: dict[str, list[float]] = {"ours": [], "rsync": []}
        contestants = {"ours": after(change, ours, folder, processor["ours"])}
        if peer[0]:
            contestants["rsync"] = after(change, peer, folder, processor["rsync"])
        took = rounds(ROUNDS, contestants)
        report.row(f"{whose}, {what}", took["ours"], took.get("rsync", []), unit="s", peer_name="rsync",
                   note="less is better; goal below 2 s")  # fmt: skip
        report.row("the same, of the processor", processor["ours"][1:], processor["rsync"][1:], unit="s",
                   peer_name="rsync", note="less is better")  # fmt: skip
        grown = (log_bytes(folder) - there) / (ROUNDS + 1) / 1000
        report.row(f"the log grows by, {what}", [grown], unit="kB", note="less is better; goal below 100 kB")
    start = list[float]()
    for _ in range(ROUNDS):
        timed([*callboard, "publish", "--help"], folder, start)
    report.row("start of a command that does nothing", start, unit="s", note="of the processor; in each of ours")


def main() -> None:
    report = Report("what_changed")
    with tempfile.TemporaryDirectory() as name:
        measure(report, Path(name))
    report.write()


if __name__ == "__main__":
    main()
