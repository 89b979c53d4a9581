"""How long after its holder is killed or suspended does the next process hold a lock, and write?

Usage: ``python benchmarks/leader_locks.py [--quick]``, 10 minutes; without ``etcd`` on the path, less.

Each of three processes waits for the lock, then commits a row to PostgreSQL. Measured is the time from the signal to
the holder (SIGKILL, or SIGSTOP) to the end of the next one's first commit. callboard's log is on the same PostgreSQL.
"""

import asyncio
import base64
import json
import os
import random
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import AsyncIterator, Iterator
from contextlib import AbstractAsyncContextManager, asynccontextmanager, contextmanager, suppress
from multiprocessing import connection, get_context
from multiprocessing.connection import Connection
from multiprocessing.context import SpawnProcess
from pathlib import Path
from typing import Any
from urllib.request import Request, urlopen

import asyncpg
from report import Report, quick

from callboard import Callboard
from callboard.testing.servers.postgres import postgres_server

ROUNDS = 5
CANDIDATES = 3
GIVE_UP_S = 60.0
KEY = 1
ETCD_START_S = 20.0

Lock = AbstractAsyncContextManager[object]


@asynccontextmanager
async def of_callboard(urls: dict[str, str], told: Connection, profile: str) -> AsyncIterator[None]:
    with tempfile.TemporaryDirectory() as folder:
        board = Callboard(urls["postgres"], blobs="./blobs", base=Path(folder), prefix=urls["prefix"])
        options: Any = {"instance": f"p{os.getpid()}", "profile": profile}
        async with board, board.member(**options) as member:
            view = await member.settled()
            while len(view.local_cluster.instances) < CANDIDATES:
                view = await member.settled(view.local_cluster.epoch + 1)
            told.send(("ready", 0))
            async with member.leader_lease():
                yield


@asynccontextmanager
async def of_postgres(urls: dict[str, str], told: Connection, _: str) -> AsyncIterator[None]:
    session = await asyncpg.connect(urls["postgres"])
    told.send(("ready", 0))
    await session.execute(f"SELECT pg_advisory_lock({KEY})")
    yield


@asynccontextmanager
async def of_etcd(urls: dict[str, str], told: Connection, ttl_s: str) -> AsyncIterator[None]:
    def ask(path: str, **said: Any) -> Any:
        with urlopen(Request(urls["etcd"] + path, json.dumps(said).encode())) as answer:
            return json.load(answer)

    async def renew() -> None:
        while True:
            await asyncio.sleep(int(ttl_s) / 5)  # as often as members renew
            await asyncio.to_thread(ask, "/v3/lease/keepalive", ID=lease)

    lease = (await asyncio.to_thread(ask, "/v3/lease/grant", TTL=ttl_s))["ID"]
    renewing = asyncio.create_task(renew())
    told.send(("ready", 0))
    await asyncio.to_thread(ask, "/v3/lock/lock", name=base64.b64encode(b"leader").decode(), lease=lease)
    yield
    renewing.cancel()


CONTESTANTS = {
    "callboard, lease 10 s, renewal 2 s": (of_callboard, "default"),
    "callboard, lease 2.5 s, renewal 0.5 s": (of_callboard, "fast"),
    "PostgreSQL's advisory lock": (of_postgres, ""),
    "etcd's lease of 10 s, renewal 2 s": (of_etcd, "10"),
    "etcd's lease of 3 s, renewal 0.6 s": (of_etcd, "3"),
}


def candidate(name: str, urls: dict[str, str], told: Connection) -> None:
    """The main function of a process."""

    async def hold() -> None:
        lock, option = CONTESTANTS[name]
        db = await asyncpg.connect(urls["postgres"])
        async with lock(urls, told, option):
            await db.execute("INSERT INTO writes VALUES ($1)", os.getpid())
            told.send(("wrote", time.monotonic_ns()))
            await asyncio.Event().wait()

    asyncio.run(hold())


class Candidates:
    """The processes, and what they tell."""

    def __init__(self, name: str, urls: dict[str, str]) -> None:
        self._running: dict[connection.Connection, SpawnProcess] = {}
        for _ in range(CANDIDATES):
            ear, told = get_context("spawn").Pipe(duplex=False)
            process = get_context("spawn").Process(target=candidate, args=(name, urls, told), daemon=True)
            process.start()
            told.close()
            self._running[ear] = process
        self._ready = 0

    def close(self) -> None:
        """End them all."""
        for process in self._running.values():
            process.kill()
            process.join()

    def wrote(self, *, ready: int = 0) -> tuple[SpawnProcess, int]:
        """The next process that wrote, and when, once this many are ready. Raises ``TimeoutError``."""
        found: tuple[SpawnProcess, int] | None = None
        deadline = time.monotonic() + GIVE_UP_S
        while found is None or self._ready < ready:
            ears = connection.wait(self._running, deadline - time.monotonic())
            if not ears:
                raise TimeoutError
            for ear in ears:
                with suppress(EOFError):
                    kind, at_ns = ear.recv()  # type: ignore[union-attr]
                    self._ready += kind == "ready"
                    found = (self._running[ear], at_ns) if kind == "wrote" else found  # type: ignore[index]
                    continue
                self._running.pop(ear)  # type: ignore[call-overload]
        return found


def measured(name: str, urls: dict[str, str], number: signal.Signals) -> float:
    """Seconds until the next one wrote, ``GIVE_UP_S`` at most."""
    candidates = Candidates(name, urls | {"prefix": f"at-{time.monotonic_ns()}"})  # a new cluster
    try:
        holder, _ = candidates.wrote(ready=CANDIDATES)
        time.sleep(2 + random.uniform(0, 2))  # at any moment between two renewals
        assert holder.pid is not None
        began_ns = time.monotonic_ns()
        os.kill(holder.pid, number)
        return (candidates.wrote()[1] - began_ns) / 1e9
    except TimeoutError:
        return GIVE_UP_S
    finally:
        candidates.close()


@contextmanager
def etcd_server() -> Iterator[str]:
    """The URL of a server, or nothing where there is no etcd."""
    if (program := shutil.which("etcd")) is None:
        yield ""
        return
    ports = []
    for _ in range(2):
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            ports.append(f"http://127.0.0.1:{free.getsockname()[1]}")
    url, peer = ports
    with tempfile.TemporaryDirectory() as folder:
        words = ["--data-dir", folder, "--listen-client-urls", url, "--advertise-client-urls", url]
        words += ["--listen-peer-urls", peer, "--initial-advertise-peer-urls", peer]
        words += ["--initial-cluster", f"default={peer}", "--logger", "zap", "--log-level", "error"]
        with subprocess.Popen([program, *words], stdout=sys.stderr) as server:
            try:
                deadline = time.monotonic() + ETCD_START_S
                while time.monotonic() < deadline:
                    with suppress(OSError), urlopen(f"{url}/health"):
                        break
                    time.sleep(0.1)
                yield url
            finally:
                server.terminate()


async def prepare(url: str) -> None:
    db = await asyncpg.connect(url)
    await db.execute("CREATE TABLE writes (pid int)")
    await db.close()


def main(count: int) -> None:
    report = Report("leader_locks")
    with postgres_server() as server, etcd_server() as etcd:
        urls = {"postgres": server.url, "etcd": etcd}
        asyncio.run(prepare(server.url))
        for name, (lock, _) in CONTESTANTS.items():
            if lock is of_etcd and not etcd:
                continue
            for how, number in (("killed", signal.SIGKILL), ("suspended", signal.SIGSTOP)):
                took = [measured(name, urls, number)]
                took += [measured(name, urls, number) for _ in range(count - 1)] if took[0] < GIVE_UP_S else []
                report.row(f"holder {how}: {name}", took, unit="s", note="less is better; 60: not in a minute")
    report.write()


if __name__ == "__main__":
    main(1 if quick() else ROUNDS)
