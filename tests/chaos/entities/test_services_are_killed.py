"""Services that share accounts are killed and suspended: each command counts once, and what was answered is there."""

import asyncio
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from random import Random

import pytest

from callboard import Callboard
from callboard.testing.servers.kafka import local_kafka
from callboard.testing.servers.postgres import postgres_server
from tests.chaos.entities.paying_service import ACCOUNTS, lines
from tests.tidy.sources import ROOT
from tests.unit.actors.entities.bank import Account
from tests.unit.actors.entities.history import history

LONG = "CALLBOARD_LONG" in os.environ
SERVICES, STRIKES, BETWEEN = (8, 60, 200) if LONG else (3, 6, 60)
DEADLINE_S, SUSPENDED_S = 120.0, 5.0
POLL_S = 0.05


class Services:
    """Services, each a process, with the commands that they sent and got answered."""

    def __init__(self, folder: Path, log: str) -> None:
        self.folder, self.log = folder, log
        self.names = [f"service-{number}" for number in range(SERVICES)]
        self.running: dict[str, subprocess.Popen[bytes]] = {}

    def start(self, name: str) -> None:
        command = [sys.executable, "-m", "tests.chaos.entities.paying_service", name, self.log, str(self.folder)]
        with (self.folder / f"{name}.out").open("ab") as out:
            self.running[name] = subprocess.Popen(command, cwd=ROOT, stdout=out, stderr=out)

    def answered(self) -> dict[str, int]:
        """The offsets of answered commands; -1 for those refused."""
        told = (line.split() for name in self.names for line in lines(self.folder / f"{name}.done"))
        return {command: int(offset) for command, offset in told}

    def sent(self) -> set[str]:
        return {line for name in self.names for line in lines(self.folder / f"{name}.sent")}

    def go_on(self, more: int, patience_s: float = DEADLINE_S) -> None:
        """Wait until this number of other commands is answered."""
        wanted, deadline = len(self.answered()) + more, time.monotonic() + patience_s
        while len(self.answered()) < wanted:
            assert time.monotonic() < deadline, self.told()
            time.sleep(POLL_S)

    def told(self) -> str:
        return "".join((self.folder / f"{name}.out").read_text()[-2000:] for name in self.names)

    def strike(self, rng: Random) -> None:
        """Kill one and start it again; or suspend one for a while."""
        name = rng.choice(self.names)
        process = self.running[name]
        if rng.random() < 0.5:
            process.kill()
            process.wait()
            self.go_on(BETWEEN // 4)
            self.start(name)
        else:
            process.send_signal(signal.SIGSTOP)
            with suppress(AssertionError):  # it may hold the lock of the log: then nobody goes on without it
                self.go_on(BETWEEN // 4, SUSPENDED_S)
            process.send_signal(signal.SIGCONT)
            self.go_on(BETWEEN // 4)

    def finish(self) -> None:
        (self.folder / "enough").touch()
        for process in self.running.values():
            assert process.wait(DEADLINE_S) == 0, self.told()


@contextmanager
def services(folder: Path, log: str) -> Iterator[Services]:
    its = Services(folder, log)
    try:
        for name in its.names:
            its.start(name)
        yield its
    finally:
        for process in its.running.values():
            process.kill()
            process.wait()


async def judge(log: str, folder: Path, its: Services) -> None:
    """Each answered command is where the answer says; no command counts twice; the states add up."""
    async with Callboard(log, blobs="./blobs", base=folder) as board:
        made, balances = await history(board)
        answered = its.answered()
        assert answered.keys() == its.sent()
        counted = {command: offset for command, offset in answered.items() if offset >= 0}
        assert {command: offset for command, offset in made.items() if command in counted} == counted
        assert made.keys() == counted.keys(), "what was refused does not count"
        accounts = board.entities(Account)
        for key, balance in balances.items():
            assert balance >= 0
            assert balance == sum(int(each.split("/")[1]) for each in made if each.startswith(f"{key}/"))
            found = await accounts.get(key, after=max(made.values()))
            assert found.state == Account(cents=balance)
        assert len(balances) == ACCOUNTS


def run(folder: Path, log: str) -> None:
    rng = Random(1)
    with services(folder, log) as its:
        its.go_on(BETWEEN)
        for _ in range(STRIKES):
            its.strike(rng)
            its.go_on(BETWEEN)
        its.finish()
    asyncio.run(judge(log, folder, its))


@pytest.mark.proves("A12")
@pytest.mark.timeout(1800)
def test_services_are_struck_on_sqlite(tmp_path: Path) -> None:
    run(tmp_path, f"sqlite:///{tmp_path}/log")


@pytest.mark.postgres
@pytest.mark.timeout(1800)
def test_services_are_struck_on_postgres(tmp_path: Path) -> None:
    with postgres_server() as server:
        run(tmp_path, server.url)


@pytest.mark.kafka
@pytest.mark.timeout(1800)
def test_services_are_struck_on_kafka(tmp_path: Path) -> None:
    with local_kafka() as cluster:
        run(tmp_path, f"kafka://{cluster.bootstrap}/?request_timeout_ms=2000")
