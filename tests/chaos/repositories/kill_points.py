"""Strike at every system call that writes, one after the other: ``python -m tests.chaos.repositories.kill_points``.

After each strike a clean start must find everything consistent and end as if nothing had happened.
"""

import argparse
import asyncio
import mmap
import shutil
import sqlite3
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path

from callboard.backends.logs.sqlite import SqliteLog
from callboard.backends.repositories import open_repository
from callboard.backends.repository import Repository
from callboard.messages.record import NewRecord
from callboard.testing.conformance.repository.harness import shapes
from tests.chaos.repositories import system_calls
from tests.chaos.repositories.importer_life import Scene, stored
from tests.chaos.repositories.system_calls import EXHAUSTED, FULL, KILL

TOPIC = "package"
BATCHES, PARTS = 8, 2
STRIKES_MAX = 2000
"""At one kind of call; no life makes more of them, or it does not end."""
FAULTS = {"killed": KILL, "disk full": FULL, "no descriptors": EXHAUSTED}


class ImporterSubject:
    """An importer that works off six packages into a repository."""

    def __init__(self, kind: str, folder: Path) -> None:
        self._kind, self._folder = kind, folder
        self._scene = Scene()
        asyncio.run(self._scene.prepare(folder))

    def fresh(self) -> None:
        """Nothing was imported yet."""
        shutil.rmtree(self._folder / "place", ignore_errors=True)
        (self._folder / "place").mkdir()

    def life(self) -> None:
        """One life of the importer."""
        asyncio.run(self._scene.play(self._repository(), self._folder / "place" / "spool"))

    def problem(self) -> str:
        """What is wrong after a life that ended well; empty if nothing is."""
        repository = self._repository()
        ledger = asyncio.run(stored(repository))
        tree = {path: content for path, (_, _, content) in shapes(repository).items()}
        if tree != {"/a": b"2", "/b": b"1", "/c": b"", "/d": b"1"}:
            return f"the tree is {tree}"
        if (ledger.offset, ledger.held, ledger.skipped, ledger.outbox, ledger.results) != (6, (), 1, (), ()):
            return f"the ledger says {ledger}"
        return "" if ledger.imported + ledger.superseded == 5 else f"imported {ledger.imported} of 5"

    def _repository(self) -> Repository:
        return open_repository(f"{self._kind}:out", self._folder / "place")


class LogSubject:
    """A writer that creates or continues a SQLite log and appends batches to it, each once by its keys."""

    def __init__(self, folder: Path, *, exists: bool) -> None:
        self._folder, self._exists = folder, exists
        self._acknowledged = mmap.mmap(-1, 1)  # told without a system call

    def fresh(self) -> None:
        """No batch was appended yet."""
        shutil.rmtree(self._folder / "log", ignore_errors=True)
        self._acknowledged[0] = 0
        if self._exists:
            asyncio.run(self._append(0))

    def life(self) -> None:
        """Append all batches, those again that are there already."""
        asyncio.run(self._append(BATCHES))

    def problem(self) -> str:
        """What is wrong; empty if nothing is."""
        with closing(sqlite3.connect(self._folder / "log" / f"{TOPIC}.db")) as db:
            if (found := db.execute("PRAGMA integrity_check").fetchone()) != ("ok",):
                return f"the database is damaged: {found}"
        texts = asyncio.run(self._read())
        wanted = [f"{number} {part}" for number in range(BATCHES) for part in range(PARTS)]
        return "" if texts == wanted else f"the log has {texts}"

    def kept(self) -> str:
        """What is wrong with the log as a strike left it; empty if all that was acknowledged is there, whole."""
        texts = asyncio.run(self._read())
        wanted = [f"{number} {part}" for number in range(BATCHES) for part in range(PARTS)]
        whole = texts == wanted[: len(texts)] and len(texts) % PARTS == 0
        return "" if whole and len(texts) >= self._acknowledged[0] * PARTS else f"only {texts} are left"

    async def _append(self, batches: int) -> None:
        log = SqliteLog(self._folder / "log")
        await log.ensure(TOPIC)
        try:
            for number in range(batches):
                texts = [f"{number} {part}" for part in range(PARTS)]
                await log.append(TOPIC, [NewRecord(payload=text.encode(), key=text) for text in texts])
                self._acknowledged[0] = max(self._acknowledged[0], number + 1)
        finally:
            await log.close()

    async def _read(self) -> list[str]:
        log = SqliteLog(self._folder / "log")
        await log.ensure(TOPIC)
        try:
            return [record.payload.decode() for record in await log.read(TOPIC, 1)]
        finally:
            await log.close()


Subject = ImporterSubject | LogSubject
SUBJECTS: dict[str, Callable[[Path], Subject]] = {
    "importer, folder": lambda folder: ImporterSubject("folder", folder),
    "importer, sqlite": lambda folder: ImporterSubject("sqlite", folder),
    "sqlite log, made": lambda folder: LogSubject(folder, exists=False),
    "sqlite log, appended to": lambda folder: LogSubject(folder, exists=True),
}


@dataclass
class Tally:
    """The counts for one subject and fault. An undisturbed run makes ``calls`` calls."""

    calls: int = 0
    strikes: int = 0
    problems: list[str] = field(default_factory=list)


def strike_at_all(subject: Subject, how: str, folder: Path, every: int = 1) -> Tally:
    """Strike at every call, or at every n-th, and check what is left each time."""
    tally = Tally()
    subject.fresh()
    made = system_calls.counted(subject.life, folder / "notes")
    tally.calls = sum(calls.total() for calls in made.values())
    for call in made:
        for number in _numbers(how, call, every):
            subject.fresh()
            lived = system_calls.struck(subject.life, call, number, how, folder / "notes")
            if not lived.struck:
                break
            tally.strikes += 1
            problem = _judged(subject)
            if problem:
                tally.problems.append(f"{call} number {number}: {problem}")
        else:
            if how == KILL:
                tally.problems.append(f"{call} does not come to an end")
    return tally


def _numbers(how: str, call: str, every: int) -> Iterator[int]:
    if how == EXHAUSTED and call not in ("open", "openat"):
        return iter(())
    return iter(range(1, STRIKES_MAX, every))


def _judged(subject: Subject) -> str:
    if isinstance(subject, LogSubject) and (problem := subject.kept()):
        return problem
    if system_calls.live(subject.life):
        return "the next life fails"
    return subject.problem()


def main() -> int:
    """All subjects, all faults; exits with 1 if anything was wrong after any strike."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--every", type=int, default=1, help="strike at every n-th call of each kind")
    parser.add_argument("--fault", choices=FAULTS, action="append", help="only this one; repeatable")
    chosen = parser.parse_args()
    if system_calls.STRACE is None:
        sys.stderr.write("strace is not installed; install it (Debian, Ubuntu: apt install strace)\n")
        return 2
    problems = strikes = 0
    for fault in chosen.fault or FAULTS:
        for name, make in SUBJECTS.items():
            started_s = time.monotonic()
            with tempfile.TemporaryDirectory(prefix="callboard-points-") as folder:
                tally = strike_at_all(make(Path(folder)), FAULTS[fault], Path(folder), chosen.every)
            took_s = time.monotonic() - started_s
            sys.stdout.write(
                f"{name}, {fault}: {tally.strikes} points of {tally.calls} calls, "
                f"{len(tally.problems)} inconsistent, {took_s:.0f} s\n"
            )
            sys.stdout.writelines(f"  {problem}\n" for problem in tally.problems)
            sys.stdout.flush()
            strikes += tally.strikes
            problems += len(tally.problems)
    sys.stdout.write(f"kill points: {strikes}, {'all consistent' if not problems else f'{problems} INCONSISTENT'}\n")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
