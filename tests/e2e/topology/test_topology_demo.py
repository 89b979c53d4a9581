"""``callboard topology demo``, from the first service to the last line."""

import os
import re
import subprocess
import sys
from pathlib import Path

DEADLINE_S = 240.0


def test_the_leaders_of_the_demo_count_right_while_they_are_killed_and_drained(tmp_path: Path) -> None:
    environ = {name: value for name, value in os.environ.items() if not name.startswith("CALLBOARD_")}
    done = subprocess.run(
        [sys.executable, "-m", "callboard", "topology", "demo"], env=environ | {"TMPDIR": str(tmp_path)},
        capture_output=True, text=True, timeout=DEADLINE_S, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr
    figures = re.fullmatch(
        r"topology demo: (\d) leaders of 5 services, 2 killed, 1 drained; (\d+) counted, 0 twice, 0 by former leaders; "
        r"6 instances in 2 clusters\n",
        done.stdout,
    )
    assert figures is not None, done.stdout
    assert int(figures[1]) >= 4
    assert int(figures[2]) > 80
    assert list(tmp_path.iterdir()) == []
