"""``docs/security.md`` names only existing tests, and every file of attacks."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[3]
PAGE = (ROOT / "docs/security.md").read_text(encoding="utf-8")
TESTS = ROOT / "tests"
FILES = sorted(path.relative_to(TESTS).as_posix() for path in (TESTS / "security").rglob("test_*.py"))

ROW = re.compile(r"^\| .+ \| .+ \| (\[.+\]\(.+\)) \|$", re.MULTILINE)
TEST = re.compile(r"\[`(\w+)`\]\(\.\./tests/([\w/]+\.py)\)")
HEADINGS = ("| attack | what happens | test |", "|---|---|---|")


def missing(page: str) -> list[tuple[str, str]]:
    """The tests on the page that are not in the file that is linked."""
    return [
        (file, name)
        for name, file in TEST.findall(page)
        if not (TESTS / file).exists() or not re.search(rf"def {name}\(", (TESTS / file).read_text(encoding="utf-8"))
    ]


def test_every_row_links_an_existing_test() -> None:
    rows = [line for line in PAGE.splitlines() if line.startswith("|") and line not in HEADINGS]
    assert rows == [row.group() for row in ROW.finditer(PAGE)]
    assert all(TEST.search(row) for row in rows)
    assert missing(PAGE) == []


@pytest.mark.parametrize("file", FILES)
def test_every_file_of_attacks_is_on_the_page(file: str) -> None:
    assert f"(../tests/{file})" in PAGE, f"add a row for each attack in {file} to docs/security.md"


def test_the_check_finds_a_missing_test() -> None:
    gone = f"[`test_that_is_gone`](../tests/{FILES[0]})"
    assert missing(gone) == [(FILES[0], "test_that_is_gone")]
