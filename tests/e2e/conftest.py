"""The command line as a user types it, in a folder of its own."""

import asyncio
import json
import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import pytest

from callboard import Callboard
from callboard.testing.servers.kafka import kafka_servers
from callboard.testing.servers.postgres import postgres_server
from callboard.testing.servers.s3 import moto_server
from tests.warm_start import WarmStart

DEADLINE_S = 180.0
"""For what takes a second on a machine that has nothing else to do."""
POLL_S = 0.2


class Terminal:
    """Types commands in a folder."""

    def __init__(self, folder: Path, warm_start: WarmStart) -> None:
        self.folder = folder
        self._warm_start = warm_start
        self._started: list[subprocess.Popen[str]] = []
        self._environ = {name: value for name, value in os.environ.items() if not name.startswith("CALLBOARD_")}
        self._environ |= {"COLUMNS": "100", "NO_COLOR": "1"}

    def run(self, *words: str, code: int = 0, given: str = "", **environ: str) -> subprocess.CompletedProcess[str]:
        """Run a command to its end, which must have this exit code and no traceback."""
        if "PYTHONPATH" in environ:  # read by a fresh interpreter only
            done = subprocess.run(
                self._command(words), cwd=self.folder, env=self._environ | environ, input=given, capture_output=True,
                text=True, timeout=DEADLINE_S, check=False,
            )  # fmt: skip
        else:
            done = self._warm_start.run(words, self.folder, self._environ | environ, given, DEADLINE_S)
        assert done.returncode == code, f"{words} ended with {done.returncode}:\n{done.stdout}\n{done.stderr}"
        assert "Traceback" not in done.stderr, done.stderr
        return done

    def out(self, *words: str) -> str:
        """The output of a command."""
        return self.run(*words).stdout

    def refused(self, *words: str, code: int = 2, given: str = "") -> str:
        """The error of a command that ends with this exit code, and prints nothing on standard output."""
        done = self.run(*words, code=code, given=given)
        assert done.stdout == ""
        return done.stderr

    def json(self, *words: str, code: int = 0) -> Any:
        """The data of the one JSON document that a command prints."""
        return self.envelope(*words, code=code)["data"]

    def envelope(self, *words: str, code: int = 0) -> dict[str, Any]:
        """That document, whose status tells the exit code, too, unless there is a problem."""
        envelope: dict[str, Any] = json.loads(self.run(*words, "--json", code=code).stdout)
        problem = any(each["code"] == "problem" for each in envelope["diagnostics"])
        status = ("attention" if problem else "ok", "attention", "error")[min(code, 2)]
        assert (envelope["version"], envelope["status"]) == (1, status)
        return envelope

    def start(self, *words: str, script: str = "", said: str = "") -> subprocess.Popen[str]:
        """Start a command that runs on; by this Python script, if it is given.

        What it says on standard error goes to the file ``said`` in the folder, else into a pipe: a command that says
        more than the 64 kB which a pipe takes blocks until the pipe is read.
        """
        with (self.folder / said).open("ab") if said else nullcontext(subprocess.PIPE) as errors:
            process = subprocess.Popen(
                [sys.executable, "-c", script, *words] if script else self._command(words),
                cwd=self.folder,
                env=self._environ,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=errors,
                text=True,
            )
        self._started.append(process)
        return process

    def until(self, subscriber: str, condition: Callable[[dict[str, Any]], bool]) -> dict[str, Any]:
        """Look at the status until it says this of the subscriber."""
        deadline = time.monotonic() + DEADLINE_S
        while True:
            rows = {row["name"]: row for row in self.json("status")["subscribers"]}
            row = rows.get(subscriber)
            if row is not None and condition(row):
                return row
            assert time.monotonic() < deadline, f"not so within {DEADLINE_S} s: {rows}"
            time.sleep(POLL_S)

    def end(self) -> None:
        """Stop what is still running; in order, for a subscriber that is killed keeps its temporary folder."""
        for process in self._started:
            process.terminate()
        for process in self._started:
            process.communicate(timeout=DEADLINE_S)

    @staticmethod
    def _command(words: tuple[str, ...]) -> list[str]:
        return [sys.executable, "-m", "callboard", *words]


@pytest.fixture
def newcomer(tmp_path: Path, warm_start: WarmStart) -> Iterator[Terminal]:
    """A terminal in a folder with a site to publish, without a board."""
    (tmp_path / "site" / "blog").mkdir(parents=True)
    (tmp_path / "site" / "index.html").write_text("welcome to the theatre")
    (tmp_path / "site" / "blog" / "a.html").write_text("the first night")
    terminal = Terminal(tmp_path, warm_start)
    yield terminal
    terminal.end()


@pytest.fixture
def terminal(newcomer: Terminal) -> Terminal:
    """The same with a board, without a configuration."""

    async def make() -> None:
        async with Callboard("sqlite:///./board.db", base=newcomer.folder):
            pass

    asyncio.run(make())
    return newcomer


@pytest.fixture
def place_on_postgres() -> Iterator[tuple[str, ...]]:
    """The options for a log on a PostgreSQL server of its own."""
    with postgres_server() as server:
        yield "--log", server.url


@pytest.fixture
def place_on_kafka() -> Iterator[tuple[str, ...]]:
    """The options for a log on a Kafka broker."""
    with kafka_servers() as servers:
        yield "--log", f"kafka://{servers}"


@pytest.fixture
def place_on_s3(monkeypatch: pytest.MonkeyPatch) -> Iterator[tuple[str, ...]]:
    """The options for large content on an S3 server, whose credentials are in the environment."""
    with moto_server() as server:
        for name in [name for name in os.environ if name.startswith("AWS_")]:
            monkeypatch.delenv(name)
        for name, value in server.environment.items():
            monkeypatch.setenv(name, value)
        server.create_bucket("demo")
        yield "--blobs", server.url("demo", "board")
