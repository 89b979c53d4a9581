"""The packages that subscribers gave up, quarantined or could not finish, and why."""

from dataclasses import replace
from typing import get_args

from callboard.board.page import Page
from callboard.board.views import FailedPackage, FailureStatus
from callboard.web.console.page import ANSWER_S, Question, Shown

ROWS = 50
SCANNED = 1000
"""Failures looked at for a page, if only those of one status are shown."""


async def errors(asked: Question) -> Shown:
    """A page of the error queues, of all subscribers or of one."""
    chosen = {name: asked.text(name) for name in ("subscriber", "publisher")}
    status = asked.choice("status", get_args(FailureStatus))
    cursor, limit = asked.text("cursor"), SCANNED if status else ROWS
    page = await asked.board.errors(**chosen, cursor=cursor, limit=limit, timeout_s=ANSWER_S)
    return {
        "cursor": cursor,
        "chosen": chosen | {"status": status},
        "page": replace(page, items=_of(page, status)),
        "statuses": get_args(FailureStatus),
    }


def _of(page: Page[FailedPackage], status: str) -> tuple[FailedPackage, ...]:
    return tuple(row for row in page.items if status in ("", row.status))
