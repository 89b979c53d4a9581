"""``callboard chaos`` at a small size: its result, and that it leaves nothing behind."""

import os
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

DEADLINE_S = 540.0
SERVERS = ("postgres", "kafka")


@pytest.fixture
def temporary() -> Iterator[Path]:
    """Where the run makes its folders: a short path, for the sockets of its processes."""
    folder = Path(f"/tmp/cbc-{os.getpid()}")
    folder.mkdir(mode=0o700)
    yield folder
    folder.rmdir()  # fails if the run left anything behind


def verdict(temporary: Path, *options: str) -> str:
    done = subprocess.run(
        [sys.executable, "-m", "callboard", "chaos", "--subscribers", "2", *options],
        capture_output=True,
        text=True,
        timeout=DEADLINE_S,
        check=False,
        env={name: value for name, value in os.environ.items() if not name.startswith("CALLBOARD_")}
        | {"TMPDIR": str(temporary)},
    )
    assert done.returncode == 0, f"{done.stdout}\n{done.stderr}"
    return done.stdout.splitlines()[-1]


def demand_all_well(last: str) -> None:
    assert last.startswith("chaos: 2 of 2 subscribers identical to the source, ")
    assert ", 0 lost, 0 applied twice; " in last
    assert last.endswith("; 0 orphans, 0 files left")
    strikes = re.search(r"; (\d+) of (\d+) strikes recovered from, ", last)
    assert strikes is not None
    assert int(strikes[1]) == int(strikes[2]) > 0


@pytest.mark.proves("W21", "W22")
def test_a_fleet_recovers_from_every_strike_on_sqlite(temporary: Path) -> None:
    demand_all_well(verdict(temporary, "--minutes", "0.2", "--seed", "8"))


@pytest.mark.parametrize("server", [pytest.param(name, marks=getattr(pytest.mark, name)) for name in SERVERS])
def test_a_fleet_recovers_from_strikes_at_its_server_and_network(server: str, temporary: Path) -> None:
    demand_all_well(verdict(temporary, "--on", server, "--minutes", "0.3", "--seed", "9"))
