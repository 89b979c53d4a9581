"""One package through all subscribers: who has it since when, who waits for it, who failed, and why."""

from collections import Counter
from collections.abc import Mapping
from typing import get_args

from callboard.board.read.packages.fates import FateName, PackageStory, package_story
from callboard.web.console.page import ANSWER_S, Question, Shown

ROWS = 200
PATHS = 20
"""Paths shown here; all of them are on the page of its content."""

WORDS: Mapping[FateName, tuple[str, str]] = {
    "given_up": ("given up", "bad"),
    "held": ("held", "bad"),
    "hook_failed": ("its hook failed", "bad"),
    "unfinished": ("not finished", "bad"),
    "next": ("next", "busy"),
    "waiting": ("waiting", "busy"),
    "imported": ("imported", "good"),
    "superseded": ("superseded", "good"),
    "cleared": ("cleared", "off"),
    "skipped": ("skipped", "off"),
    "passed": ("past it", "good"),
    "left_out": ("not for it", "off"),
}
"""A fate for people, and its mood."""


async def package(asked: Question) -> Shown:
    """The package of the path."""
    story = await package_story(asked.board.context, asked.number("offset"), timeout_s=ANSWER_S)
    took_s = sorted((fate.time_ns - story.time_ns) / 1e9 for fate in story.fates if fate.name == "imported")
    return {"story": story, "took_s": took_s, "paths_shown": PATHS, **fates_shown(asked, story)}


def fates_shown(asked: Question, story: PackageStory) -> Shown:
    """A page of what became of it, and how often."""
    wanted = asked.choice("fate", get_args(FateName))
    found = [fate for fate in story.fates if wanted in ("", fate.name)]
    at = min(asked.whole("at", 0), max(len(found) - 1, 0)) // ROWS * ROWS
    counted = Counter(fate.name for fate in story.fates)
    return {
        "fates": found[at : at + ROWS],
        "counted": [(name, counted[name]) for name in get_args(FateName) if counted[name]],
        "fate": wanted,
        "words": WORDS,
        "at": at,
        "found": len(found),
        "per_page": ROWS,
    }
