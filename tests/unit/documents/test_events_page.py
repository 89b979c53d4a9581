"""docs/events.md: its service runs, and its record is what callboard writes."""

import json
import re
import subprocess
import sys
from pathlib import Path

from callboard.messages.distribution.package_event import KINDS, PackageEvent, event_record

TEXT = (Path(__file__).resolve().parents[3] / "docs" / "events.md").read_text(encoding="utf-8")


def shown(language: str) -> str:
    (block,) = re.findall(rf"^```{language}\n(.*?)^```", TEXT, re.MULTILINE | re.DOTALL)
    return block


def test_the_service_on_the_page_runs(tmp_path):
    done = subprocess.run(
        [sys.executable, "-c", shown("python")], cwd=tmp_path, capture_output=True, text=True, timeout=60, check=False
    )
    assert done.returncode == 0, done.stderr
    lines = [line for line in done.stdout.splitlines() if line.startswith(("imported", "distributed"))]
    assert [line.strip() for line in lines] == ["imported ADD / edge-1", "distributed ADD /"]


def test_every_kind_of_event_is_documented():
    assert re.findall(r"^\| `(\w+)` \|", TEXT, re.MULTILINE) == list(KINDS)


def test_the_record_on_the_page_is_what_callboard_writes():
    event = PackageEvent(
        kind="failed", publisher="site", package_id="p-1", offset=7, dedup_key="failed/site/p-1/edge-1/0b7f/3",
        log_id="l-1", time_ns=1_700_000_000_000_000_000, paths=("/a",), request="ADD", user="ann", length=132,
        subscriber="edge-1", subscriber_instance="0b7f", outcome="REMOVED_FAILED", reason="disk full", attempts=3,
    )  # fmt: skip
    assert list(json.loads(shown("json")).items()) == list(json.loads(event_record(event, 0, "p").payload).items())
