"""One subscriber: what it does, why it does not move, its queue, its errors, and what it was commanded."""

from typing import Any

from callboard.board.read.subscriber_history import subscriber_history
from callboard.board.views import SubscriberStatus
from callboard.door.names import unknown
from callboard.errors import LogError, NotAnswered, RequestRefused
from callboard.messages.headers import SEPARATOR
from callboard.web.console.page import ANSWER_S, Question, Shown
from callboard.web.console.plots.plots import plots_of

ROWS = 50
"""Packages of its queue on a page."""

ERRORS = 10
POSITIONS = 10
"""Errors and positions shown here; the others are on pages of their own, or in the plot."""


async def subscriber(asked: Question) -> Shown:
    """The subscriber of the path. While the log cannot be read, only what was last known of it."""
    row, problem = subscriber_row(asked, asked.path["name"]), asked.now.problem
    plots = plots_of(asked, "position", "behind", subscriber=row.name)
    shown = {"row": row, "cursor": asked.text("cursor"), "plots": plots, "queue": None, "site": row.site}
    if not problem:
        try:
            shown |= await _read(asked, row.name)
            if row.site is not None:
                shown["site"] = await asked.board.site_status(row.name, timeout_s=ANSWER_S)
        except (LogError, NotAnswered) as error:
            problem = str(error)
    return shown | {"problem": problem}


async def at_site(asked: Question) -> Shown:
    """The subscriber of a site: what the site's log, or else its relay, says of it. Commands go by the relay."""
    name, now = f"{asked.path['site']}{SEPARATOR}{asked.path['name']}", asked.reading
    relay = subscriber_row(asked, asked.path["site"])
    if relay.site is None:
        raise RequestRefused(f"{relay.name!r} is not a relay, so there is no {name!r}", code="unknown_name")
    shown: dict[str, Any] = {"name": name, "row": None, "site": relay.site, "queue": None, "problem": now.problem}
    try:
        site = await asked.board.site_status(name, timeout_s=ANSWER_S)
        shown |= {"site": site, "row": site.rows[0], "cursor": asked.text("cursor")}
        shown |= await _read(asked, name)
    except (LogError, NotAnswered) as error:
        shown["problem"] = str(error)
    except RequestRefused as error:
        if error.code != "at_site":
            raise
        shown["problem"] = str(error)
    return shown


async def _read(asked: Question, name: str) -> Shown:
    board = asked.board
    queue = await board.queue(name, cursor=asked.text("cursor"), limit=ROWS, timeout_s=ANSWER_S)
    errors = await board.errors(name, limit=ERRORS, timeout_s=ANSWER_S)
    history = await subscriber_history(board.context, name)
    last = history.positions[: -POSITIONS - 1 : -1]
    return {"queue": queue, "errors": errors, "history": history, "last": last}


def subscriber_row(asked: Question, name: str) -> SubscriberStatus:
    """The status of the subscriber. Raises ``RequestRefused`` for one that is not known."""
    known = {row.name: row for row in asked.reading.status.subscribers}
    if name not in known:
        raise unknown("subscriber", name, known)
    return known[name]
