"""``callboard jobs demo``, from the first worker to the last line."""

import os
import re
import subprocess
import sys
from pathlib import Path

DEADLINE_S = 400.0


def test_the_digests_of_the_demo_are_right_while_workers_are_killed(tmp_path: Path) -> None:
    environ = {name: value for name, value in os.environ.items() if not name.startswith("CALLBOARD_")}
    done = subprocess.run(
        [sys.executable, "-m", "callboard", "jobs", "demo"], env=environ | {"TMPDIR": str(tmp_path)},
        capture_output=True, text=True, timeout=DEADLINE_S, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr
    figures = re.fullmatch(
        r"jobs demo: (\d+) of (\d+) digests by 4 workers, 3 killed, (\d+) jobs run again; (\d+) ticks; "
        r"the manifest after them has (\d+), 0 wrong\n",
        done.stdout,
    )
    assert figures is not None, done.stdout
    assert figures[1] == figures[2] == figures[5]
    assert int(figures[4]) >= 2
    assert done.stderr.count("kill -9 of worker") == 3
    assert list(tmp_path.iterdir()) == []
