"""The commands in docs/operations.md run in order, as they are written there."""

import re
import shlex
from pathlib import Path

import pytest

from callboard.board.care.retention_gate import GatePolicy
from callboard.board.read.log.log_search import SCAN_MAX
from callboard.content.collection import GRACE_MIN_S

TEXT = (Path(__file__).resolve().parents[3] / "docs" / "operations.md").read_text(encoding="utf-8")
BLOCKS = re.findall(r"^```console\n(.*?)^```$", TEXT, re.MULTILINE | re.DOTALL)


@pytest.mark.proves("W28", "F71")
def test_the_commands_of_the_page_run_in_order(newcomer):
    terminal = newcomer
    lines = [line for block in BLOCKS for line in block.splitlines()]
    assert len(lines) > 15
    for line in lines:
        dollar, program, *words = shlex.split(line)
        assert (dollar, program) == ("$", "callboard")
        terminal.run(*words)
    for name in ("out-1", "out-3"):
        assert (terminal.folder / name / "blog" / "a.html").read_text() == "the first night"
    assert (terminal.folder / "package-2" / "blog" / "a.html").exists()
    assert (terminal.folder / "packages.ndjson").read_text().count("\n") == 2


def test_the_figures_on_the_page_match_the_code():
    assert f"The least grace is {GRACE_MIN_S / 3600:g} hours" in TEXT
    assert f"A search ends after {SCAN_MAX:_} records".replace("_", " ") in TEXT
    for gate in ("none", "subscribers", "archive"):
        assert f"| `{gate}` |" in TEXT
        assert GatePolicy(gate)
