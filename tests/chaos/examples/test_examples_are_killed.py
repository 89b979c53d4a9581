"""The examples as real services, which are killed and suspended, and lose their snapshots and tables: the invariants
of their simulations hold, and each command counts once.
"""

import asyncio
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from random import Random

import pytest

from callboard.testing.servers.kafka import local_kafka
from callboard.testing.servers.postgres import postgres_server
from tests.chaos.examples.example_service import lines
from tests.chaos.examples.judge import judge
from tests.chaos.examples.place import Place, sqlite_place
from tests.chaos.examples.stories import SERVICES
from tests.tidy.sources import ROOT

LONG = "CALLBOARD_LONG" in os.environ
STRIKES, BETWEEN = (100, 100) if LONG else (6, 40)
"""How often something happens, and how many commands are answered before the next time."""

SUSPENDED_S = 12.0 if LONG else 3.0
"""At most; others take over what is to be done after 5 s."""

DEADLINE_S = 120.0
POLL_S = 0.05


class Services:
    """Services, each a process, and what is done to them."""

    def __init__(self, folder: Path, example: str, log: str, place: Place, seed: int) -> None:
        self._folder, self._example, self._log, self._place = folder, example, log, place
        self._rng = Random(seed)
        self.names = [f"service-{number}" for number in range(SERVICES)]
        self.running: dict[str, subprocess.Popen[bytes]] = {}
        self.told: list[str] = []

    def start(self, name: str) -> None:
        command = [
            sys.executable, "-m", "tests.chaos.examples.example_service", name, self._example, self._log,
            str(self._folder), self._place.snapshots, self._place.tables,
        ]  # fmt: skip
        with (self._folder / f"{name}.out").open("ab") as out:
            self.running[name] = subprocess.Popen(command, cwd=ROOT, stdout=out, stderr=out)

    def go_on(self, more: int) -> None:
        """Wait until this number of other commands is answered."""
        assert self._go_on_for(DEADLINE_S, more), self.said()

    def _go_on_for(self, seconds: float, more: int) -> bool:
        wanted, deadline = self._answered() + more, time.monotonic() + seconds
        while self._answered() < wanted and time.monotonic() < deadline:
            time.sleep(POLL_S)
        return self._answered() >= wanted

    def _answered(self) -> int:
        return sum(len(lines(self._folder / f"{name}.done")) for name in self.names)

    def said(self) -> str:
        said = "".join((self._folder / f"{name}.out").read_text()[-3000:] for name in self.names)
        return f"{', '.join(self.told)}\n{said}"

    def strike(self) -> None:
        """Do something of what happens to services."""
        strikes = [self._kill, self._kill, self._suspend, self._suspend, self._forget_snapshots, self._restore_tables]
        name = self._rng.choice(self.names)
        strike = self._rng.choice(strikes)
        self.told.append(f"{strike.__name__[1:]} {name}")
        strike(name)

    def _kill(self, name: str) -> None:
        self.running[name].kill()
        self.running[name].wait()
        self.go_on(BETWEEN // 4)
        self.start(name)

    def _suspend(self, name: str) -> None:
        self.running[name].send_signal(signal.SIGSTOP)
        self._go_on_for(SUSPENDED_S, BETWEEN // 4)  # it may hold the lock of the log
        self.running[name].send_signal(signal.SIGCONT)

    def _forget_snapshots(self, name: str) -> None:
        self._place.forget_snapshots()
        self._kill(name)

    def _restore_tables(self, _: str) -> None:
        if self._place.restore_tables():
            self.go_on(BETWEEN // 4)
        self._place.copy_tables()

    def wait_idle(self) -> None:
        """Let the clients come to an end."""
        (self._folder / "enough").touch()
        deadline = time.monotonic() + DEADLINE_S
        while not all((self._folder / f"{name}.idle").exists() for name in self.names):
            assert time.monotonic() < deadline, self.said()
            assert all(process.poll() is None for process in self.running.values()), self.said()
            time.sleep(POLL_S)

    def finish(self) -> None:
        for process in self.running.values():
            process.terminate()
        for process in self.running.values():
            assert process.wait(DEADLINE_S) == 0, self.said()


@contextmanager
def services(folder: Path, example: str, log: str, place: Place, seed: int) -> Iterator[Services]:
    its = Services(folder, example, log, place, seed)
    try:
        for name in its.names:
            its.start(name)
        yield its
    finally:
        for process in its.running.values():
            process.kill()
            process.wait()


def run(folder: Path, example: str, log: str, seed: int = 1) -> None:
    with sqlite_place(folder) as place, services(folder, example, log, place, seed) as its:
        its.go_on(BETWEEN)
        for _ in range(STRIKES):
            its.strike()
            its.go_on(BETWEEN)
        its.wait_idle()
        try:
            asyncio.run(judge(example, log, place, folder))
        except BaseException as error:
            error.add_note(f"seed {seed}: {its.said()}")
            raise
        its.finish()


@pytest.mark.timeout(1800)
@pytest.mark.parametrize("example", ["bank", "stock"])
def test_an_example_is_struck_on_sqlite(tmp_path: Path, example: str) -> None:
    run(tmp_path, example, f"sqlite:///{tmp_path}/log")


@pytest.mark.postgres
@pytest.mark.timeout(1800)
@pytest.mark.parametrize("example", ["bank", "stock"])
def test_an_example_is_struck_on_postgres(tmp_path: Path, example: str) -> None:
    with postgres_server() as server:
        run(tmp_path, example, server.url)


@pytest.mark.kafka
@pytest.mark.timeout(1800)
@pytest.mark.parametrize("example", ["bank", "stock"])
def test_an_example_is_struck_on_kafka(tmp_path: Path, example: str) -> None:
    with local_kafka() as cluster:
        run(tmp_path, example, f"kafka://{cluster.bootstrap}/?request_timeout_ms=2000")
