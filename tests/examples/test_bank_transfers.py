"""The program of the bank example that kills its own services."""

import subprocess
import sys
from pathlib import Path

from tests.examples.worlds import EXAMPLES

DEADLINE_S = 300.0


def test_no_cent_is_lost_when_services_are_killed(tmp_path: Path) -> None:
    command = [sys.executable, str(EXAMPLES / "bank" / "transfers.py")]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=DEADLINE_S, check=False)
    assert done.returncode == 0, done.stderr
    assert done.stderr.count("kill -9") == 6
    *_, last = done.stdout.splitlines()
    assert last.endswith("500000 cents before, 500000 after")
