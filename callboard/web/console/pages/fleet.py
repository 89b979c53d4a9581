"""Who has what, how far behind, why, and what helps."""

from callboard.web.console.page import Question, Shown


async def fleet(asked: Question) -> Shown:
    """Every subscriber, those first that need somebody."""
    rows = sorted(asked.now.status.subscribers, key=lambda row: (not row.needs, -row.lag_packages, row.name))
    return {"rows": rows}
