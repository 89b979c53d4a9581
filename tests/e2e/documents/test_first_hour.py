"""The programs in docs/first-hour.md run as they are written there, also where nothing but callboard is installed."""

import os
import re
import shutil
import subprocess
import sys
import time
import venv
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from callboard.testing.servers.network import free_port

ROOT = Path(__file__).resolve().parents[3]
TEXT = (ROOT / "docs" / "first-hour.md").read_text(encoding="utf-8")
PROGRAMS = dict(re.findall(r"^```python file=(\S+)\n(.*?)^```$", TEXT, re.MULTILINE | re.DOTALL))
CONSOLES = re.findall(r"^```console\n(.*?)^```$", TEXT, re.MULTILINE | re.DOTALL)

DEADLINE_S = 300.0
"""For the installation, which may compile; all else takes some seconds."""

POLL_S = 0.1


class Newcomer:
    """Somebody with a folder and a Python."""

    def __init__(self, folder: Path, python: str) -> None:
        self.folder, self.python = folder, python
        self.environ = {name: value for name, value in os.environ.items() if not name.startswith("PYTEST_")}

    def write(self) -> None:
        """Copy all programs."""
        for name, program in PROGRAMS.items():
            (self.folder / name).write_text(program)

    def run(self, *arguments: str) -> str:
        """Run Python with these arguments; return what it prints."""
        done = subprocess.run(
            [self.python, *arguments], cwd=self.folder, env=self.environ, capture_output=True, text=True,
            timeout=DEADLINE_S, check=False,
        )  # fmt: skip
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout

    @contextmanager
    def served(self) -> Iterator[str]:
        """Start the service; yield its address."""
        port = free_port()
        with (self.folder / "service.out").open("wb") as out:
            process = subprocess.Popen(
                [self.python, "-m", "uvicorn", "service:app", "--port", str(port)],
                cwd=self.folder, env=self.environ, stdout=out, stderr=out,
            )  # fmt: skip
        try:
            deadline = time.monotonic() + DEADLINE_S
            while "Uvicorn running" not in (said := (self.folder / "service.out").read_text()):
                assert process.poll() is None, said
                assert time.monotonic() < deadline, said
                time.sleep(POLL_S)
            yield f"http://127.0.0.1:{port}"
        finally:
            process.terminate()
            process.wait(DEADLINE_S)

    def follow(self) -> None:
        """Do all that the document says."""
        self.write()
        assert "4 passed" in self.run("-m", "pytest", "-q", "-p", "no:cacheprovider", "--basetemp=tmp")
        [visit] = [each for each in CONSOLES if each.startswith("$ venv/bin/python visit.py")]
        with self.served() as address:
            assert self.run("visit.py", address) == visit.partition("\n")[2]


def test_every_program_of_the_document_has_a_name_and_fits_on_a_line() -> None:
    assert len(PROGRAMS) == TEXT.count("```python")
    assert max(map(len, TEXT.splitlines())) <= 120


def test_the_programs_of_the_document_import_only_public_modules() -> None:
    imported = set(re.findall(r"^(?:from|import) (callboard\S*)", "\n".join(PROGRAMS.values()), re.MULTILINE))
    assert imported == {"callboard", "callboard.actors", "callboard.testing.actors"}


def test_the_programs_of_the_document_do_what_it_says(tmp_path: Path) -> None:
    Newcomer(tmp_path, sys.executable).follow()


@pytest.mark.timeout(900)
@pytest.mark.skipif("CALLBOARD_LONG" not in os.environ, reason="installs packages by pip; set CALLBOARD_LONG=1")
def test_they_do_so_in_an_environment_of_their_own(tmp_path: Path) -> None:
    venv.create(tmp_path / "venv", with_pip=True)
    newcomer = Newcomer(tmp_path, str(tmp_path / "venv" / "bin" / "python"))
    for name in ("PYTHONPATH", "PYTHONDONTWRITEBYTECODE", "VIRTUAL_ENV"):
        newcomer.environ.pop(name, None)
    packages = next(line for line in CONSOLES[0].splitlines() if "pip install" in line).partition("callboard ")[2]
    newcomer.run("-m", "pip", "install", "--quiet", "--disable-pip-version-check", copy(tmp_path), *packages.split())
    newcomer.follow()
    assert str(tmp_path) in newcomer.run("-c", "import callboard; print(callboard.__file__)")


def copy(folder: Path) -> str:
    """The checkout without what is not in it: a build leaves files beside the sources."""
    ignored = shutil.ignore_patterns(".*", "*.egg-info", "build", "dist", "__pycache__", "tests", "benchmarks")
    shutil.copytree(ROOT, folder / "callboard-clone", ignore=ignored, symlinks=True)
    return str(folder / "callboard-clone")
