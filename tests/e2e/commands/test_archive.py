"""`callboard archive` at the command line, and the examples in docs/archive.md."""

import json
import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

from callboard.archive.files.manifest import FORMAT
from callboard.archive.files.segment import SCHEMA, SEGMENT_BYTES

TEXT = (Path(__file__).resolve().parents[3] / "docs" / "archive.md").read_text(encoding="utf-8")
SETTINGS = '[archive]\nplace = "./archive"\n'


def blocks(language: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```$", TEXT, re.MULTILINE | re.DOTALL)


def python(terminal, code: str) -> str:
    """The output of a program."""
    done = subprocess.run([sys.executable, "-c", code], cwd=terminal.folder, capture_output=True, text=True, timeout=60,
                          check=False)  # fmt: skip
    assert (done.returncode, done.stderr) == (0, ""), done.stderr
    return done.stdout


def tree(folder: Path) -> dict[str, bytes]:
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in folder.rglob("*")
            if path.is_file() and ".callboard" not in path.parts}  # fmt: skip


@pytest.fixture
def archived(terminal) -> list[int]:
    """Three packages, and an archive of them."""
    (terminal.folder / "callboard.toml").write_text(SETTINGS)
    terminal.run("publish", "./site")
    terminal.run("publish", "./site", "--full", "/blog")
    terminal.run("delete", "/blog/a.html")
    terminal.run("archive", "run")
    return [record["offset"] for record in terminal.json("log", "list")["items"]]


def test_the_commands_on_the_page_about_archives_work(newcomer):
    terminal = newcomer
    (terminal.folder / "callboard.toml").write_text(blocks("toml")[0])
    with_callboard, with_pyarrow = blocks("python")
    for number, block in enumerate(blocks("console")):
        if number == 2:  # seeding begins with a trim of the first package
            terminal.run("publish", "./site", "--full", "/blog")
            terminal.run("archive", "run")
        for line in block.splitlines():
            dollar, program, *words = shlex.split(line)
            assert (dollar, program) == ("$", "callboard")
            terminal.run(*words)
    assert tree(terminal.folder / "out") == tree(terminal.folder / "site")
    packages = terminal.json("--log", "sqlite:///./restored.db", "log", "list")["items"]
    rows = [(str(record["offset"]), record["type"]) for record in packages]
    assert len(rows) == 2
    for program in (with_pyarrow, with_callboard):
        assert [tuple(line.split()[:2]) for line in python(terminal, program).splitlines()] == rows


def test_the_page_describes_the_format_correctly(terminal, archived):
    for column in SCHEMA.names:
        assert f"`{column}`" in TEXT
    assert f"{SEGMENT_BYTES >> 20} MB" in TEXT
    assert f"| `format` | {FORMAT} |" in TEXT
    for kind in ("manifest", "generation"):
        terminal.run("archive", "compact")
        (path, *_) = (terminal.folder / "archive" / kind).rglob("*.json")
        for key in json.loads(path.read_text()):
            assert f"`{key}`" in TEXT
        terminal.run("publish", "./site", "--full", "/blog")
        terminal.run("archive", "run")


def test_a_run_reports_what_it_did(terminal, archived):
    assert terminal.json("archive", "run")["topics"][0]["rows"] == 0
    terminal.run("publish", "./site", "--full")
    report = terminal.json("archive", "run")
    package = report["topics"][0]
    assert (package["topic"], package["rows"], package["files"]) == ("callboard.package", 1, 1)
    assert package["next"] == package["first"] + 1 == archived[-1] + 2
    assert report["seconds"] > 0
    (status, *_) = terminal.json("archive", "status")
    assert (status["rows"], status["files"]) == (4, 2)
    assert status["next"] == status["log_end"] == package["next"]
    (checked, *_) = terminal.json("archive", "verify")
    assert (checked["rows"], checked["problems"]) == (4, [])


def test_an_incomplete_archive_is_detected(terminal, archived):
    (segment,) = (terminal.folder / "archive" / "segment").rglob("*.parquet")
    segment.unlink()
    assert "is missing" in terminal.run("archive", "verify", code=1).stdout
    assert "is missing" in terminal.refused("--log", "sqlite:///./new.db", "archive", "restore", code=4)


def test_a_hole_stops_the_run_until_it_is_accepted(terminal, archived):
    last = [terminal.json("publish", "./site", "--full")["offset"] for _ in range(2)][-1]
    terminal.run("log", "trim", "--below", str(last), "--yes")
    assert "ARCHIVE HOLE" in terminal.run("archive", "run", code=2).stderr
    (package, *_) = terminal.json("archive", "status")
    assert "are lost" in package["problem"]
    terminal.run("archive", "run", "--accept-hole")
    assert f"hole from {archived[-1] + 1} up to {last - 1}" in terminal.out("archive", "verify")


def test_records_of_another_log_are_not_added(terminal, archived):
    other = ("--log", "sqlite:///./other.db")
    terminal.run(*other, "publish", "./site", "--create")
    assert "not the one that was archived" in terminal.run(*other, "archive", "run", code=4).stderr


def test_the_archive_gate_refuses_to_trim_what_is_not_archived(terminal, archived):
    config = SETTINGS + '[retention]\ngate = "archive"\narchive_tip = "./archive.tip"\n'
    (terminal.folder / "callboard.toml").write_text(config)
    terminal.run("archive", "run")
    last = terminal.json("publish", "./site", "--full")["offset"]
    assert "the archive" in terminal.refused("log", "trim", "--below", str(last + 1), "--yes")
    terminal.run("archive", "run")
    terminal.run("log", "trim", "--below", str(last + 1), "--yes")
    assert terminal.json("log", "list")["items"] == []


def test_a_subscriber_continues_on_a_log_restored_in_place(terminal, archived):
    terminal.run("run", "subscriber", "edge-1", "--into", "./out", "--until-caught-up")
    terminal.run("archive", "run")
    new = ("--log", "sqlite:///./restored.db")
    terminal.run(*new, "archive", "restore", "--same-identity")
    assert "already there" in terminal.out(*new, "archive", "restore", "--same-identity")
    terminal.run(*new, "publish", "./site", "--full", "/blog")
    output = terminal.out(*new, "run", "subscriber", "edge-1", "--into", "./out", "--until-caught-up")
    assert f"at offset {archived[-1] + 1}; it imported 4 packages" in output
    assert tree(terminal.folder / "out") == tree(terminal.folder / "site")


def test_an_archive_needs_a_place_and_a_log(newcomer):
    terminal = newcomer
    assert "set archive.place" in terminal.refused("archive", "run")
    assert "no log at" in terminal.refused("archive", "run", "--archive", "./archive")
    terminal.run("publish", "./site", "--create")
    assert "no place for an archive" in terminal.refused("archive", "run", "--archive", "ftp://host/archive")
    assert "has no topic" in terminal.refused("--log", "sqlite:///./new.db", "archive", "restore", "--archive", "./x")


def test_only_archive_commands_need_the_extra_and_they_name_it(terminal, archived):
    without = terminal.folder / "without"
    without.mkdir()
    (without / "pyarrow.py").write_text("raise ModuleNotFoundError('pyarrow')\n")
    path = os.pathsep.join(filter(None, (str(without), os.environ.get("PYTHONPATH"))))
    output = terminal.run("archive", "status", code=2, PYTHONPATH=path).stderr
    assert "pip install 'callboard[archive]'" in output
    terminal.run("status", PYTHONPATH=path)
    assert python(terminal, "import sys, callboard.cli.app; print('pyarrow' in sys.modules)") == "False\n"
