"""What a command imports, which is most of its cost: a benchmark measures the time, see benchmarks/command_start.py."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

AT_THE_END = """
import atexit, os, sys
atexit.register(lambda: os.write(3, "\\n".join(name for name, module in sys.modules.items() if module).encode()))
"""


def imported(folder: Path, *words: str, **environ: str) -> set[str]:
    """The modules that a command has imported when it ends."""
    read, write = os.pipe()
    code = f"{AT_THE_END}from callboard.cli import main\nsys.argv = {['callboard', *words]!r}\nmain()"
    shell = 'exec 3>&"$0"; exec "$@"'
    process = subprocess.run(
        ["bash", "-c", shell, str(write), sys.executable, "-c", code],
        cwd=folder, env=os.environ | environ, pass_fds=[write], capture_output=True, text=True, timeout=60, check=False,
    )  # fmt: skip
    os.close(write)
    with os.fdopen(read, encoding="utf-8") as file:
        modules = file.read().split()
    assert modules, process.stderr
    assert process.returncode == 0, process.stderr
    return set(modules)


def tops(modules: set[str]) -> set[str]:
    return {name.partition(".")[0] for name in modules}


SLOW = {"asyncio", "attr", "google", "importlib.metadata", "pydantic", "rich", "structlog", "thespian"}
COMPLETION = {"COMP_WORDS": "callboard st", "COMP_CWORD": "1", "_CALLBOARD_COMPLETE": "complete_bash"}


@pytest.mark.parametrize(
    ("words", "environ"),
    [(["--version"], {}), (["--help"], {}), (["log", "--help"], {}), ([], COMPLETION),
     ([], {"_TYPER_COMPLETE_ARGS": "callboard log ", "_CALLBOARD_COMPLETE": "complete_zsh"}),
     ([], {"_TYPER_COMPLETE_ARGS": "callboard log ", "_TYPER_COMPLETE_FISH_ACTION": "get-args",
           "_CALLBOARD_COMPLETE": "complete_fish"})],
    ids=["version", "help", "help of a group", "bash", "zsh", "fish"],
)  # fmt: skip
def test_commands_without_a_board_import_no_slow_modules(tmp_path, words, environ):
    modules = imported(tmp_path, *words, **environ)
    assert (modules | tops(modules)) & SLOW == set()
    cheap = ("callboard.cli", "callboard.e", "callboard.version")
    assert {name for name in modules if name.startswith("callboard.") and not name.startswith(cheap)} == set()


def test_the_status_imports_only_what_it_needs(tmp_path):
    imported(tmp_path, "init")
    (tmp_path / "site").mkdir()
    (tmp_path / "site" / "index.html").write_text("hello")
    imported(tmp_path, "publish", "site")
    modules = imported(tmp_path, "status")
    heavy = {"attr", "jinja2", "opentelemetry", "prometheus_client", "pydantic", "starlette", "structlog", "uvicorn"}
    assert tops(modules) & heavy == set()
    assert "importlib.metadata" not in modules
    assert set() == {name for name in modules if name.startswith("thespian.system.transport.") or "multiproc" in name}
    without = (
        "callboard.testing",
        "callboard.pipeline",
        "callboard.archive",
        "callboard.actors.runtime.simulated",
        "callboard.actors.runtime.processes",
        "callboard.cli.chaos",
        "callboard.cli.demo",
        "callboard.actors.subscriber.importing.importer",
        "callboard.board.read.explaining",
        "callboard.board.care.verifying",
    )
    assert {name for name in modules if name.startswith(without)} == set()


def test_log_commands_start_no_agent_and_import_no_thespian(tmp_path):
    imported(tmp_path, "init")
    assert "thespian" not in tops(imported(tmp_path, "log", "list"))
