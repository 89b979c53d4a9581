"""How far entities, processes, projections and reactions are, in all processes."""

from callboard.board.entities.health.checkup import findings
from callboard.web.console.page import Question, Shown

ROWS = 100
"""Folds on a page."""


async def folds(asked: Question) -> Shown:
    """The folds, those first that need somebody, with what is wrong and what helps."""
    found, at = await asked.board.folds(), asked.whole("at", 0)
    rows = sorted(found, key=lambda row: not row.needs)[at : at + ROWS]
    shown = [(row, list(findings(row, found))) for row in rows]
    return {"rows": shown, "at": at, "found": len(found), "per_page": ROWS}
