"""Everything that a page links or names exists."""

import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[3]
PAGES = sorted((*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md"), *ROOT.glob("deploy/**/*.md")))

LINK = re.compile(r"\]\(([^)\s]+)\)")
FILE = re.compile(r"`([\w.-]+(?:/[\w.-]+)+\.(?:py|md|txt|proto|toml|yaml))`")
CODE = re.compile(r"^```.*?^```", re.MULTILINE | re.DOTALL)


@cache
def headings(page: Path) -> frozenset[str]:
    """The anchors that GitHub gives to a page's headings."""
    found = re.findall(r"^#+ (.*)$", CODE.sub("", page.read_text(encoding="utf-8")), re.MULTILINE)
    return frozenset(re.sub(r"[^\w -]", "", heading.lower()).replace(" ", "-") for heading in found)


def dead_links(page: Path, text: str) -> Iterator[str]:
    for link in LINK.findall(CODE.sub("", text)):
        path, _, anchor = link.partition("#")
        if "://" in link:
            continue
        target = page.parent / path if path else page
        if not target.exists() or (anchor and anchor not in headings(target.resolve())):
            yield link


def dead_names(page: Path, text: str) -> Iterator[str]:
    """Files are named from the root, from the package, or from the page."""
    for name in FILE.findall(CODE.sub("", text)):
        if not any((folder / name).exists() for folder in (ROOT, ROOT / "callboard", page.parent)):
            yield name


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.relative_to(ROOT).as_posix())
def test_every_link_and_every_named_file_leads_somewhere(page: Path) -> None:
    text = page.read_text(encoding="utf-8")
    assert [*dead_links(page, text), *dead_names(page, text)] == []


def test_the_check_finds_a_dead_link() -> None:
    page = ROOT / "README.md"
    text = "[a](docs/nothing.md) [b](STYLE.md#nothing) [c](STYLE.md#tests) `tests/nothing.py` `actors/worlds/world.py`"
    assert list(dead_links(page, text)) == ["docs/nothing.md", "STYLE.md#nothing"]
    assert list(dead_names(page, text)) == ["tests/nothing.py"]


def test_the_files_named_in_the_architecture_exist() -> None:
    page = (ROOT / "ARCHITECTURE.md").read_text(encoding="utf-8")
    named = {path for path in re.findall(r"`([a-z_]+/[\w./]*)`", page) if not path.startswith("docs/")}
    assert len(named) > 30
    assert {path for path in named if not (ROOT / "callboard" / path).exists() and not (ROOT / path).exists()} == set()
