"""The log's server stops or dies under a publisher and a subscriber: a visible wait, nothing lost, nothing twice."""

import json
import os
import signal
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import NamedTuple

import pytest

from callboard.testing.kafka import local_kafka
from callboard.testing.postgres import postgres_server

LONG = "CALLBOARD_LONG" in os.environ
AWAY_S = 30.0 if LONG else 4.0
PACKAGES = 40
"""What is published before the server goes, and again after it came back."""
DEADLINE_S = 90.0


class Server(NamedTuple):
    """A server that can be made to go and to come back."""

    url: str
    freeze: Callable[[int], None]
    kill: Callable[[], None]
    start: Callable[[], None]


@contextmanager
def postgres() -> Iterator[Server]:
    with postgres_server() as server:

        def freeze(number: int) -> None:
            main = server._process.pid
            children = Path(f"/proc/{main}/task/{main}/children").read_text().split()
            for process in (main, *map(int, children)):
                os.kill(process, number)

        yield Server(server.url, freeze, server.kill, server.start)


@contextmanager
def kafka() -> Iterator[Server]:
    with local_kafka() as cluster:
        url = f"kafka://{cluster.bootstrap}/?request_timeout_ms=2000"
        yield Server(url, lambda number: cluster.signal(1, number), lambda: cluster.kill(1), cluster.start)


class Requests:
    """Ships file after file, each until it is accepted, under one id."""

    def __init__(self, terminal) -> None:
        self._folder = terminal.folder / "site"
        self._publisher = terminal.start("run", "publisher", "--from", "./site", "--requests", "-")
        self._stopping = threading.Event()
        self._thread = threading.Thread(target=self._run)
        self.offsets: list[int] = []
        self.reasons: set[str] = set()
        self.said = ""
        self._thread.start()

    def until(self, count: int) -> None:
        """Wait until so many are accepted."""
        deadline = time.monotonic() + DEADLINE_S
        while len(self.offsets) < count:
            assert time.monotonic() < deadline, (self.offsets, self.reasons)
            time.sleep(0.02)

    def stop(self) -> str:
        """End it in order; what the publisher said of itself."""
        self._stopping.set()
        self._thread.join(DEADLINE_S)
        if self._publisher.poll() is None:
            self.said = self._publisher.communicate(timeout=DEADLINE_S)[1]
        return self.said

    def _run(self) -> None:
        while not self._stopping.is_set():
            number = len(self.offsets)
            (self._folder / f"{number}.txt").write_text(str(number))
            body = {"kind": "add", "paths": [f"/{number}.txt"], "request_id": f"request-{number}"}
            self._publisher.stdin.write(json.dumps(body) + "\n")
            self._publisher.stdin.flush()
            text = self._publisher.stdout.readline()
            if not text:
                return  # it has ended
            answer = json.loads(text)
            if answer["accepted"]:
                self.offsets.append(answer["offset"])
            else:
                self.reasons.add(answer["reason"])


@contextmanager
def shipping_to(terminal, url: str) -> Iterator[Requests]:
    """Requests to a board with its log there, ended whatever happens."""
    text = f'log = "{url}"\nblobs = "./blobs"\n[logging]\nlevel = "warning"\n'  # the pipe is read at the end only
    (terminal.folder / "callboard.toml").write_text(text)
    requests = Requests(terminal)
    try:
        yield requests
    finally:
        requests.stop()


@pytest.mark.timeout(300)
@pytest.mark.parametrize("how", ["frozen", "killed"])
@pytest.mark.parametrize(
    "kind", [pytest.param(postgres, marks=pytest.mark.postgres), pytest.param(kafka, marks=pytest.mark.kafka)]
)
def test_nothing_is_lost_and_nothing_imported_twice(
    terminal, kind: Callable[[], AbstractContextManager[Server]], how: str
) -> None:
    with kind() as server, shipping_to(terminal, server.url) as requests:
        requests.until(1)
        edge = terminal.start("run", "subscriber", "edge-1", "--into", "./out")
        terminal.until("edge-1", lambda row: row["imported"] > 0)
        requests.until(PACKAGES)
        if how == "frozen":
            server.freeze(signal.SIGSTOP)
            time.sleep(AWAY_S)
            server.freeze(signal.SIGCONT)
        else:
            server.kill()
            assert "check that" in terminal.refused("status", code=4)
            time.sleep(AWAY_S)
            server.start()
        requests.until(len(requests.offsets) + PACKAGES)
        said = requests.stop()
        if how == "killed":
            assert "append.failed" in said

        offsets = requests.offsets
        assert offsets == sorted(set(offsets))
        on_the_log = [record["about"] for record in terminal.json("log", "list", "--limit", "1000")]
        assert set(on_the_log) == {f"main: ADD /{number}.txt" for number in range(len(offsets))}
        repeated = len(on_the_log) - len(offsets)
        # Kafka knows no keys: what was given up while the broker was frozen may be written as it thaws.
        assert repeated == 0 or (kind is kafka and how == "frozen")
        row = terminal.until("edge-1", lambda row: row["offset"] >= offsets[-1] and not row["lag_packages"])
        assert row["imported"] == len(on_the_log), "a record was imported twice, or left out"
        assert row["errors"] == 0
        for number in range(len(offsets)):
            assert (terminal.folder / "out" / f"{number}.txt").read_text() == str(number)
        edge.terminate()
        assert edge.wait(DEADLINE_S) == 0
