"""A service that serves a board with something of everything."""

import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx

DEADLINE_S = 60.0
ROOT = Path(__file__).parents[3]
SERVICE = Path(__file__).with_name("service.py")


@dataclass(frozen=True)
class Served:
    """Where the board is, and where its API."""

    folder: Path
    url: str

    def ask(self, path: str, **options: Any) -> httpx.Response:
        """The answer to a request."""
        return httpx.get(f"{self.url}{path}", timeout=DEADLINE_S, **options)

    def data(self, path: str) -> Any:
        """The data of an answer."""
        answer = self.ask(path)
        assert answer.status_code == 200, answer.text
        return answer.json()["data"]


@contextmanager
def serving(folder: Path) -> Iterator[Served]:
    """The service, running in a process of its own."""
    said = folder / "said.txt"
    with said.open("wb") as file, subprocess.Popen(
        [sys.executable, "-m", "tests.web.api.service", str(folder)], cwd=ROOT, stdin=subprocess.PIPE,
        stdout=subprocess.PIPE, stderr=file,
    ) as process:  # fmt: skip
        port = process.stdout.readline().decode().strip()
        assert port, said.read_text()
        yield Served(folder, f"http://127.0.0.1:{port}/api/v1")
        process.stdin.close()
        assert process.wait(DEADLINE_S) == 0, said.read_text()
    assert "request.failed" not in said.read_text()
