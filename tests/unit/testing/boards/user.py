"""Somebody who has callboard installed, and runs pytest on tests of their own."""

import os
import subprocess
import sys
import tomllib
from pathlib import Path

ROOT = Path(__file__).resolve().parents[4]
ENTRY_POINTS = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["entry-points"]["pytest11"]

DEADLINE_S = 180.0

LEAVES_NOTHING = '''
import os, threading
from pathlib import Path

def threads():
    return {each for each in threading.enumerate() if "execnet" not in repr(each)}

def pytest_collection_finish(session):
    session.before = threads()

def pytest_sessionfinish(session):
    left = [each.name for each in threads() - getattr(session, "before", threads())]
    if not hasattr(session.config, "workerinput"):  # a worker ends while others use the folder
        left += [each for each in os.listdir(os.environ["TMPDIR"]) if not each.startswith("pytest-of-")]
    with (Path(__file__).parent / "left.txt").open("a") as file:
        file.writelines(f"{each}\\n" for each in left)
'''
"""A conftest that notes what tests leave behind."""


class User:
    """Has a folder with tests, in which pytest finds the plugin as an installed one."""

    def __init__(self, folder: Path) -> None:
        self.folder, its = folder / "suite", folder / "installed"
        (about := its / "callboard_of_the_tests-1.dist-info").mkdir(parents=True)
        (about / "METADATA").write_text("Metadata-Version: 2.1\nName: callboard-of-the-tests\nVersion: 1\n")
        (about / "RECORD").write_text("callboard/__init__.py,,\n")
        named = "".join(f"{name} = {where}\n" for name, where in ENTRY_POINTS.items())
        (about / "entry_points.txt").write_text(f"[pytest11]\n{named}")
        self.folder.mkdir()
        (folder / "tmp").mkdir()
        self._environ = {name: value for name, value in os.environ.items() if not name.startswith("PYTEST_")}
        self._environ |= {"PYTHONPATH": f"{its}:{ROOT}", "TMPDIR": str(folder / "tmp")}

    def write(self, **modules: str) -> None:
        """Write these modules, by their names, and a conftest that notes what is left behind."""
        for name, text in {"conftest": LEAVES_NOTHING, **modules}.items():
            (self.folder / f"{name}.py").write_text(text)

    def pytest(self, *options: str, code: int = 0, **environ: str) -> str:
        """Run pytest, to this exit code; return what it says."""
        done = subprocess.run(
            [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-W", "error", *options], cwd=self.folder,
            env=self._environ | environ, capture_output=True, text=True, timeout=DEADLINE_S, check=False,
        )  # fmt: skip
        assert done.returncode == code, done.stdout + done.stderr
        assert (self.folder / "left.txt").read_text() == "", (self.folder / "left.txt").read_text()
        return done.stdout
