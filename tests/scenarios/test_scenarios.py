"""Every story plays as written, in any order in which its actors get their messages.

``python tests/scenarios/story.py --rewrite`` tells them as they go now.
"""

from pathlib import Path
from typing import Any

import pytest

HERE = Path(__file__).resolve().parent
STORIES = sorted(HERE.glob("*.txt"))
PAGE = HERE.parents[1] / "docs" / "scenarios.md"
SEEDS = (0, 1)


@pytest.fixture
def story(monkeypatch: pytest.MonkeyPatch) -> Any:
    monkeypatch.syspath_prepend(str(HERE))
    import story

    return story


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("file", STORIES, ids=lambda file: file.stem)
def test_the_story_plays_as_written(file: Path, seed: int, story: Any) -> None:
    told = file.read_text(encoding="utf-8")

    assert story.play(told, seed) == told


def test_a_wrong_answer_is_found_and_can_be_rewritten(tmp_path: Path, story: Any) -> None:
    told = "A story\n\n$ publish /a one\nADD /a of main is at offset 1\n\nIts end.\n"
    file = tmp_path / "story.txt"
    file.write_text(told.replace("offset 1", "offset 7\nand more"))

    assert story.main(str(file)) == 1
    assert story.main("--rewrite", str(file)) == 0
    assert file.read_text() == told


def test_every_story_is_on_the_page_under_its_title() -> None:
    page = PAGE.read_text(encoding="utf-8")
    titles = {file.name: file.read_text(encoding="utf-8").splitlines()[0] for file in STORIES}

    for name, title in titles.items():
        assert f"* [{title}](../tests/scenarios/{name})\n" in page


def test_every_command_is_on_the_page(story: Any) -> None:
    page = PAGE.read_text(encoding="utf-8")

    for verb in story.VERBS.values():
        usage, _, meaning = " ".join(verb.__doc__.split()).partition(": ")
        assert f"| `{usage}` | {meaning} |" in page
