"""The log's server stops or dies under a publisher and a subscriber: a visible wait, nothing lost, nothing twice."""

import json
import os
import signal
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, suppress
from pathlib import Path
from typing import NamedTuple

import pytest

from callboard.testing.servers.kafka import local_kafka
from callboard.testing.servers.postgres import postgres_server

LONG = "CALLBOARD_LONG" in os.environ
AWAY_S = 30.0 if LONG else 4.0
PACKAGES = 40
"""What is published before the server goes, and again after it came back."""
DEADLINE_S = 180.0
"""For what takes seconds: on a busy machine a server recovers in a minute, and clients pause 5 s between tries."""
PAUSE_S = 0.2
"""Before a request that was refused is made again. The publisher refuses at once while it cannot look at the log."""
SAID_CHARACTERS = 1500
"""Of the publisher's log in a failure's message."""


class Server(NamedTuple):
    """A server that can be made to go and to come back."""

    url: str
    freeze: Callable[[int], None]
    kill: Callable[[], None]
    start: Callable[[], None]
    said: Callable[[], str]


@contextmanager
def postgres() -> Iterator[Server]:
    with postgres_server() as server:

        def freeze(number: int) -> None:
            main = server._process.pid
            children = Path(f"/proc/{main}/task/{main}/children").read_text().split()
            for process in (main, *map(int, children)):
                with suppress(ProcessLookupError):  # its workers come and go
                    os.kill(process, number)

        yield Server(server.url, freeze, server.kill, server.start, lambda: server.said)


@contextmanager
def kafka() -> Iterator[Server]:
    with local_kafka() as cluster:
        url = f"kafka://{cluster.bootstrap}/?request_timeout_ms=2000"
        yield Server(
            url,
            lambda number: cluster.signal(1, number),
            lambda: cluster.kill(1),
            cluster.start,
            lambda: cluster.said(1),
        )


class Requests:
    """Ships file after file, each until it is accepted, under one id."""

    def __init__(self, terminal, server: Server) -> None:
        self._folder, self._server = terminal.folder / "site", server
        self._log = terminal.folder / "publisher.log"
        words = ("run", "publisher", "--from", "./site", "--requests", "-", "--create")
        self._publisher = terminal.start(*words, said=self._log.name)
        self._stopping = threading.Event()
        self._thread = threading.Thread(target=self._run)
        self.offsets: list[int] = []
        self.reasons: set[str] = set()
        self._thread.start()

    def until(self, count: int) -> None:
        """Wait until this many are accepted."""
        deadline = time.monotonic() + DEADLINE_S
        while len(self.offsets) < count:
            assert time.monotonic() < deadline, self._account(count)
            time.sleep(0.02)

    def stop(self) -> str:
        """Stop it cleanly; returns the output of the publisher."""
        self._stopping.set()
        self._thread.join(DEADLINE_S)
        if self._publisher.poll() is None:
            self._publisher.communicate(timeout=DEADLINE_S)
        return self._log.read_text()

    def _account(self, count: int) -> str:
        return (
            f"{len(self.offsets)} accepted instead of {count}; refused because of {self.reasons or 'nothing'}; the "
            f"publisher {'runs' if self._publisher.poll() is None else 'has ended'}, and said last:\n"
            f"{self._log.read_text()[-SAID_CHARACTERS:]}\nthe server said last:\n{self._server.said()}"
        )

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
                self._stopping.wait(PAUSE_S)


@contextmanager
def shipping_to(terminal, server: Server) -> Iterator[Requests]:
    """Requests to a board with its log there, ended in any case."""
    text = f'log = "{server.url}"\nblobs = "./blobs"\n[logging]\nlevel = "warning"\n'
    (terminal.folder / "callboard.toml").write_text(text)
    requests = Requests(terminal, server)
    try:
        yield requests
    finally:
        requests.stop()


def all_on_the_log(terminal, start: int) -> list[str]:
    """What the packages are about, oldest first; page by page, for a slow machine lets many be shipped meanwhile."""
    found: list[str] = []
    while page := terminal.json("log", "list", "--from", str(start), "--limit", "1000")["items"]:
        found += [record["about"] for record in page]
        start = page[-1]["offset"] + 1
    return found


@pytest.mark.timeout(900)
@pytest.mark.parametrize("how", ["frozen", "killed"])
@pytest.mark.parametrize(
    "kind", [pytest.param(postgres, marks=pytest.mark.postgres), pytest.param(kafka, marks=pytest.mark.kafka)]
)
def test_when_a_server_dies_nothing_is_lost_or_imported_twice(
    terminal, kind: Callable[[], AbstractContextManager[Server]], how: str
) -> None:
    with kind() as server, shipping_to(terminal, server) as requests:
        requests.until(1)
        edge = terminal.start("run", "subscriber", "edge-1", "--into", "./out", said="edge-1.log")
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
        output = requests.stop()
        if how == "killed":
            assert "append.failed" in output or "log.failed" in output

        offsets = requests.offsets
        assert offsets == sorted(set(offsets))
        on_the_log = all_on_the_log(terminal, offsets[0])
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
