"""``callboard pipeline demo`` from the first package to the last line."""

import os
import re
import subprocess
import sys

import pytest

DEADLINE_S = 540.0


@pytest.mark.timeout(600)
@pytest.mark.proves("W3")
def test_a_log_that_is_archived_trimmed_lost_and_restored_leaves_identical_subscribers(tmp_path):
    for number in range(24):
        folder = tmp_path / "site" / f"part-{number % 3}"
        folder.mkdir(parents=True, exist_ok=True)
        (folder / f"{number}.txt").write_text(f"{number}\n" * 50)
    (tmp_path / "tmp").mkdir()
    environ = {name: value for name, value in os.environ.items() if not name.startswith("CALLBOARD_")}
    environ["TMPDIR"] = str(tmp_path / "tmp")
    done = subprocess.run(
        [sys.executable, "-m", "callboard", "pipeline", "demo", "--source", str(tmp_path / "site"), "--edits", "12",
         "--seed", "3", "--out", str(tmp_path / "out")],
        env=environ, capture_output=True, text=True, timeout=DEADLINE_S, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr
    figures = re.fullmatch(
        r"pipeline demo: 4 of 4 subscribers identical to the source, (\d+) packages, (\d+) archived, (\d+) trimmed, "
        r"(\d+) restored, (\d+) imported from the archive alone; (\d+) of (\d+) queues of the past as they were",
        done.stdout.splitlines()[-1],
    )
    assert figures is not None, done.stdout
    packages, archived, trimmed, restored, imported, right, queues = map(int, figures.groups())
    assert packages == archived > restored > trimmed >= imported > 3
    assert right == queues > 12
    page = (tmp_path / "out" / "current" / "report.html").read_text()
    assert "no room for /part-2" in page
    assert not [path for path in (tmp_path / "tmp").iterdir() if path.name.startswith("callboard-demo-")]
