"""How far entities, processes, projections and reactions are, in all processes."""

from callboard.board.entities.health.checkup import findings
from callboard.web.console.page import Question, Shown


async def folds(asked: Question) -> Shown:
    """Each fold, those first that need somebody, with what is wrong and what helps."""
    rows = await asked.board.folds()
    ordered = sorted(rows, key=lambda row: not row.needs)
    return {"rows": [(row, list(findings(row, rows))) for row in ordered]}
