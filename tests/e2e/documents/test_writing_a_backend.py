"""docs/writing-a-backend.md works as it stands: the package is installed, a board runs on it, it passes the suite."""

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

PAGE = (Path(__file__).resolve().parents[3] / "docs" / "writing-a-backend.md").read_text(encoding="utf-8")
TIMEOUT_S = 100


def blocks(language: str) -> list[str]:
    return re.findall(rf"```{language}\n(.*?)```", PAGE, re.DOTALL)


@pytest.fixture
def installed(tmp_path: Path) -> dict[str, str]:
    """The environment of processes that have the package, built from its two files."""
    source, place = tmp_path / "mylog", tmp_path / "installed"
    source.mkdir()
    (source / "pyproject.toml").write_text(blocks("toml")[0])
    (source / "mylog.py").write_text(blocks("python")[0])
    build = "import os, sys; from setuptools import build_meta; print(build_meta.build_wheel(sys.argv[1]))"
    done = run([sys.executable, "-c", build, str(tmp_path)], source, dict(os.environ))
    subprocess.run(
        [sys.executable, "-m", "zipfile", "-e", str(tmp_path / done.stdout.split()[-1]), str(place)], check=True
    )
    return {**os.environ, "PYTHONPATH": str(place)}


def run(command: list[str], folder: Path, environment: dict[str, str]) -> subprocess.CompletedProcess[str]:
    done = subprocess.run(
        command, cwd=folder, env=environment, capture_output=True, text=True, check=False, timeout=TIMEOUT_S
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done


def test_a_board_runs_on_a_log_from_another_package(installed: dict[str, str], tmp_path: Path) -> None:
    done = run([sys.executable, "-c", blocks("python")[1]], tmp_path, installed)
    assert done.stdout.splitlines()[-1] == "<h1>Hello</h1>"
    assert list(tmp_path.glob("board/*.db"))


def test_a_log_from_another_package_passes_the_conformance_suite(installed: dict[str, str], tmp_path: Path) -> None:
    suite = [sys.executable, "-m", "callboard.testing.conformance", "log", "mylog://conformance", "--json"]
    done = run(suite, tmp_path, installed)
    checks = {name: row["mylog"] for name, row in json.loads(done.stdout)["log"]["checks"].items()}
    assert checks["trim is refused unless declared"] == "ok"
    assert checks["trim removes below an offset"] == "TRIM"
    assert checks["a killed writer leaves whole appends"] == "ok"
    assert "0 FAIL" in done.stderr


def test_the_tests_of_the_package_run_with_pytest(installed: dict[str, str], tmp_path: Path) -> None:
    (tmp_path / "test_mylog.py").write_text(blocks("python")[2])
    pytest_here = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "--basetemp=own"]
    done = run([*pytest_here, "test_mylog.py"], tmp_path, installed)
    assert "failed" not in done.stdout
    assert "passed" in done.stdout


def test_the_other_commands_on_the_page_succeed(tmp_path: Path) -> None:
    commands = re.findall(r"^\$ python (.*'.*')$", PAGE, re.MULTILINE)
    assert len(commands) == 2
    for command in commands:
        arguments = [word.strip("'") for word in command.replace("/tmp/", f"{tmp_path}/").split()]
        run([sys.executable, *arguments], tmp_path, dict(os.environ))


@pytest.mark.parametrize(
    ("group", "opener"),
    [("callboard.blob_stores", "folder:blobs"), ("callboard.repositories", "sqlite:content.db")],
)
def test_packages_can_offer_blob_stores_and_repositories_in_the_same_way(
    group: str, opener: str, tmp_path: Path
) -> None:
    kind = group.removeprefix("callboard.")
    function = {"blob_stores": "open_blob_store", "repositories": "open_repository"}[kind]
    (tmp_path / "mine-1.0.dist-info").mkdir()
    (tmp_path / "mine-1.0.dist-info/METADATA").write_text("Name: mine\nVersion: 1.0\n")
    (tmp_path / "mine-1.0.dist-info/entry_points.txt").write_text(f"[{group}]\nmine = mine:make\n")
    (tmp_path / "mine.py").write_text(
        f"from callboard.backends.{kind} import {function}\n"
        f"def make(url, base):\n    assert url == 'mine:x'\n    return {function}({opener!r}, base)\n"
    )
    program = (
        f"from pathlib import Path\nfrom callboard.backends.{kind} import {function}\n"
        f"print(type({function}('mine:x', Path())).__name__)"
    )
    done = run([sys.executable, "-c", program], tmp_path, {**os.environ, "PYTHONPATH": str(tmp_path)})
    assert done.stdout.strip() in {"FolderBlobStore", "SqliteRepository"}
