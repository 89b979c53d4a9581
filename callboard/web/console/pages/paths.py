"""Why a subscriber has what it has at a path, and who has the newest package that touches it."""

from callboard.backends.repositories.paths import PATH_BYTES_MAX
from callboard.board.read.explaining import touching
from callboard.board.read.packages.fates import package_story
from callboard.web.console.page import ANSWER_S, Question, Shown
from callboard.web.console.pages.package import fates_shown


async def paths(asked: Question) -> Shown:
    """The packages that touch the path; with a subscriber, what they did there."""
    chosen = {"path": asked.text("path", PATH_BYTES_MAX), "subscriber": asked.text("subscriber")}
    if not chosen["path"]:
        return {"chosen": chosen, "explained": None, "touching": None}
    if chosen["subscriber"]:
        explained = await asked.board.explain(chosen["subscriber"], chosen["path"])
        return {"chosen": chosen, "explained": explained, "touching": None}
    found = await touching(asked.board.context, chosen["path"])
    shown = {"chosen": chosen, "explained": None, "touching": found}
    if not found.packages:
        return shown
    story = await package_story(asked.board.context, found.packages[0].offset, timeout_s=ANSWER_S)
    return shown | {"story": story, **fates_shown(asked, story)}
