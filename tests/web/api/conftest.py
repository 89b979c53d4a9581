"""A service that serves a board with something of everything."""

import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.warm_start import WarmStart

ROOT = Path(__file__).parents[3]
SERVICE = Path(__file__).with_name("service.py")


@dataclass(frozen=True)
class Served:
    """Where the board is, and where its API."""

    folder: Path
    url: str


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    """The service, running in a process of its own."""
    folder = tmp_path_factory.mktemp("board")
    with subprocess.Popen(
        [sys.executable, "-m", "tests.web.api.service", str(folder)], cwd=ROOT, stdin=subprocess.PIPE,
        stdout=subprocess.PIPE, stderr=(folder / "errors.txt").open("wb"),
    ) as process:  # fmt: skip
        port = process.stdout.readline().decode().strip()
        assert port, (folder / "errors.txt").read_text()
        yield Served(folder, f"http://127.0.0.1:{port}/api/v1")
        process.stdin.close()
        assert process.wait(60) == 0, (folder / "errors.txt").read_text()
    assert "Traceback" not in (folder / "errors.txt").read_text()
