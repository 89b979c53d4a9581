"""The programs in docs/testing.md run as they are written there, and its numbers are those of the code."""

import re
from pathlib import Path

from callboard.actors.subscriber.reporting.lease_holder import WATCH_S
from callboard.testing import plugin
from callboard.testing.boards.memory_board import RETRY
from tests.unit.testing.boards.user import User

TEXT = (Path(__file__).resolve().parents[4] / "docs" / "testing.md").read_text(encoding="utf-8")
PROGRAMS = dict(re.findall(r"^```python file=(\S+)\n(.*?)^```$", TEXT, re.MULTILINE | re.DOTALL))


def test_every_program_of_the_document_has_a_name() -> None:
    assert len(PROGRAMS) == TEXT.count("```python")


def test_the_tests_of_the_document_pass(tmp_path: Path) -> None:
    user = User(tmp_path)
    user.write(**{name.removesuffix(".py"): program for name, program in PROGRAMS.items()})
    assert "5 passed" in user.pytest()


def test_every_fixture_is_in_the_table_of_the_document() -> None:
    fixtures = {name for name in vars(plugin) if name.startswith("callboard_")}
    assert set(re.findall(r"^\| `(callboard_\w+)` \|", TEXT, re.MULTILINE)) == fixtures


def test_the_numbers_in_the_document_match_the_code() -> None:
    assert f"Subscribers of a fleet retry within {RETRY.max_s:g} s" in TEXT
    assert f"for up to {WATCH_S:g} s at a time" in TEXT
