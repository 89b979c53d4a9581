"""The script that runs a broker, as typed at a prompt."""

import subprocess
import sys
from pathlib import Path

import pytest

from callboard.testing.servers.kafka import SCRIPT

pytestmark = pytest.mark.kafka


@pytest.mark.usefixtures("kafka")  # the jars are needed, too
def test_a_broker_is_started_found_again_and_then_stopped(tmp_path: Path) -> None:
    def script(command: str) -> subprocess.CompletedProcess[str]:
        line = [sys.executable, str(SCRIPT), command, "--data", str(tmp_path / "data")]
        return subprocess.run(line, capture_output=True, text=True, check=False)

    assert script("status").returncode == 3
    started = script("start")
    try:
        assert started.stdout.startswith("127.0.0.1:"), started.stderr
        assert script("start").stdout == started.stdout
        found = script("status")
        assert (found.returncode, found.stdout.partition("runs as ")[0]) == (0, "broker 1: ")
        pid = int(found.stdout.rpartition(" ")[2])
    finally:
        assert script("stop").returncode == 0
    assert script("status").stdout == "broker 1: stopped\n"
    assert not Path(f"/proc/{pid}/cmdline").exists() or not Path(f"/proc/{pid}/cmdline").read_bytes()
