"""``make docs`` builds the whole site, without a warning and without a network."""

import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PAGES = ("index", "reference", "generated/commands", "generated/settings", "generated/callboard", "decisions")


def test_the_site_is_built_without_a_warning():
    done = subprocess.run(
        [sys.executable, str(ROOT / "docs" / "build.py")], capture_output=True, text=True, timeout=300, check=False
    )
    assert done.returncode == 0, done.stderr[-3000:]
    for page in PAGES:
        assert (ROOT / "build" / "docs" / f"{page}.html").stat().st_size > 1000
    assert "callboard run subscriber" in (ROOT / "build" / "docs" / "generated" / "commands.html").read_text("utf-8")
