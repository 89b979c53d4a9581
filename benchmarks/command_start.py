"""The start-up cost of a command: the version, the help, a completion, and the status of a small board.

Usage: ``python benchmarks/command_start.py [--rounds 15] [--quick]``, half a minute.

Each round starts every command once in a process of its own, and a bare ``python -c pass``. The figures are
milliseconds of processor time, user and system, which vary less than elapsed time on a busy machine. The goals are 100
ms, for the status 250 ms. ``tests/unit/cli/test_imports.py`` checks what they import.
"""

import argparse
import os
import resource
import subprocess
import sys
import tempfile
from functools import partial
from pathlib import Path

from report import Report, quick, rounds

COMMANDS = {
    "--version": ["--version"], "--help": ["--help"], "status --help": ["status", "--help"], "completion": [],
    "status": ["status"], "status --json": ["status", "--json"],
}  # fmt: skip
COMPLETING = {"COMP_WORDS": "callboard st", "COMP_CWORD": "1", "_CALLBOARD_COMPLETE": "complete_bash"}
GOALS_MS = {"--version": 100.0, "--help": 100.0, "completion": 100.0, "status --help": 250.0, "status": 250.0}


def cpu_ms(folder: Path, command: list[str], environ: dict[str, str]) -> float:
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run(command, cwd=folder, env=environ, check=True, stdout=subprocess.DEVNULL)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return (after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime) * 1000


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--rounds", type=int, default=15)
    parser.add_argument("--quick", action="store_true")
    count = 3 if quick() else parser.parse_args().rounds
    environ = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    callboard = [sys.executable, "-c", "from callboard.cli import main; main()"]
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "site").mkdir()
        (folder / "site" / "index.html").write_text("hello")
        subscribe = ["run", "subscriber", "edge-1", "--into", "out", "--until-caught-up"]
        for words in (["init"], ["publish", "site"], subscribe):
            subprocess.run([*callboard, *words], cwd=folder, env=environ, check=True, capture_output=True)
        contestants = {"bare python": partial(cpu_ms, folder, [sys.executable, "-c", "pass"], environ)}
        for label, words in COMMANDS.items():
            own = environ | (COMPLETING if label == "completion" else {})
            contestants[label] = partial(cpu_ms, folder, [*callboard, *words], own)
        figures = rounds(count, contestants)
    report = Report("command_start")
    for label in COMMANDS:
        report.row(label, figures[label], figures["bare python"], unit="ms of processor", peer_name="python -c pass")
    report.write()
    for label, goal_ms in GOALS_MS.items():
        print(f"{label}: {min(figures[label]):.0f} ms at best, goal {goal_ms:.0f} ms")


if __name__ == "__main__":
    main()
