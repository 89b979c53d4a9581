"""What a user has: an interpreter, a virtual environment, and a distribution that pip has installed there."""

import io
import json
import lzma
import os
import shutil
import subprocess
import sys
import tarfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]

PINNED = Path(__file__).with_name("last_version.txt")

PUBLISHED = ("LICENSE", "README.md", "callboard", "pyproject.toml")
"""What a distribution is made of."""

FOLDERS = "CALLBOARD_PYTHONS"
"""The environment variable with folders of further interpreters, separated as on the PATH."""

PYENV = Path("~/.pyenv/versions").expanduser()

DEADLINE_S = 300.0
"""For what takes seconds on a machine that has nothing else to do; downloads included."""

POLL_S = 0.2


def interpreter(version: str) -> str:
    """A Python of this version that runs: of the PATH, of pyenv, or of a folder that is named; or nothing."""
    named = os.environ.get(FOLDERS, "").split(os.pathsep) + os.environ.get("PATH", "").split(os.pathsep)
    for folder in (*filter(None, named), *sorted(PYENV.glob(f"{version}.*/bin"))):
        program = Path(folder) / f"python{version}"
        if program.exists() and not subprocess.run([program, "-c", ""], capture_output=True, check=False).returncode:
            return str(program)  # a shim of pyenv may refuse to run
    return ""


def copied(folder: Path) -> Path:
    """What distributions are made of, of this tree, without what is left from earlier builds."""
    for name in PUBLISHED:
        if (ROOT / name).is_dir():
            shutil.copytree(ROOT / name, folder / name, ignore=shutil.ignore_patterns("__pycache__"))
        else:
            shutil.copy(ROOT / name, folder)
    return folder


def archived(commit: str, folder: Path) -> Path:
    """The same of a commit; of the last version also where the history is not there, from the archive beside this."""
    git = subprocess.run(["git", "archive", commit, *PUBLISHED], cwd=ROOT, capture_output=True, check=False)
    tree = git.stdout if git.returncode == 0 else b""
    if not tree and commit == PINNED.read_text(encoding="utf-8").strip():
        tree = lzma.decompress(PINNED.with_suffix(".tar.xz").read_bytes())
    assert tree, (
        f"the last version, {commit}, is not in this clone ({git.stderr.decode().strip()}); "
        "fetch the whole history: git fetch --unshallow --tags"
    )
    with tarfile.open(fileobj=io.BytesIO(tree)) as content:
        content.extractall(folder, filter="data")
    return folder


def built(source: Path, folder: Path, *options: str, **environ: str) -> Path:
    """The wheel of a source tree, in this folder, made of the sdist beside it, unless an option says otherwise."""
    command = [sys.executable, "-m", "build", "--no-isolation", "--outdir", str(folder), *options, str(source)]
    ended(command, source, **environ)
    return next(folder.glob("*.whl"))


class Environment:
    """A virtual environment without a pip of its own: the one of the tests installs into it. It needs an index.

    Args:
        folder: where it is, or is made.
        python: the interpreter that makes it.
    """

    def __init__(self, folder: Path, python: str = sys.executable) -> None:
        if not folder.exists():
            ended([python, "-m", "venv", "--without-pip", str(folder)], folder.parent)
        self.folder = folder
        self.python = str(folder / "bin" / "python")
        self._started: list[subprocess.Popen[str]] = []

    def install(self, requirement: str) -> None:
        """Install a distribution and what it needs."""
        pip = [sys.executable, "-m", "pip", "--python", self.python, "--disable-pip-version-check", "--quiet"]
        ended([*pip, "install", requirement], self.folder)

    def installed(self) -> set[str]:
        """The names of the distributions."""
        names = "from importlib.metadata import distributions; print(*(each.name for each in distributions()))"
        return set(self.run_python(self.folder, "-c", names).split())

    def run_python(self, folder: Path, *words: str) -> str:
        """What a program says that ends well."""
        return ended([self.python, *words], folder).stdout

    def callboard(self, folder: Path, *words: str, code: int = 0) -> str:
        """What a command says, on standard output if it ends well, else on standard error."""
        done = ended([str(self.folder / "bin" / "callboard"), *words], folder, code)
        return done.stderr if code else done.stdout

    def json(self, folder: Path, *words: str) -> Any:
        """The data of the document that a command prints."""
        printed = json.loads(self.callboard(folder, *words, "--json"))
        return printed["data"] if "diagnostics" in printed else printed

    def start(self, folder: Path, *words: str) -> subprocess.Popen[str]:
        """Start a command that runs until it is stopped; what it says goes to a file, named after its last word."""
        with (folder / f"{words[-1]}.log").open("a") as said:
            command = [str(self.folder / "bin" / "callboard"), *words]
            process = subprocess.Popen(command, cwd=folder, env=_environ(), stdout=said, stderr=said, text=True)
        self._started.append(process)
        return process

    def stop(self, *processes: subprocess.Popen[str]) -> None:
        """End these commands in order, or all that were started; they must say that all went well."""
        for process in (them := processes or tuple(self._started)):
            process.terminate()
        for process in them:
            self._started.remove(process)
            assert process.wait(DEADLINE_S) == 0, process.args


def ended(command: list[str], folder: Path, code: int = 0, **environ: str) -> subprocess.CompletedProcess[str]:
    """Run a command to its end. It must have this exit code, and show no traceback."""
    done = subprocess.run(
        command, cwd=folder, env=_environ() | environ, stdin=subprocess.DEVNULL, capture_output=True, text=True,
        timeout=DEADLINE_S, check=False,
    )  # fmt: skip
    assert done.returncode == code, f"{command} ended with {done.returncode}:\n{done.stdout}\n{done.stderr}"
    assert "Traceback" not in done.stderr, done.stderr
    return done


def until(condition: Callable[[], Any]) -> Any:
    """Wait for something to be so, or there; what it is."""
    deadline = time.monotonic() + DEADLINE_S
    while not (found := condition()):
        assert time.monotonic() < deadline, f"not within {DEADLINE_S:g} s"
        time.sleep(POLL_S)
    return found


def _environ() -> dict[str, str]:
    """Without what would show another callboard, or other settings, to it."""
    ours = ("CALLBOARD_", "PYTHON")
    return {name: value for name, value in os.environ.items() if not name.startswith(ours)} | {"NO_COLOR": "1"}
