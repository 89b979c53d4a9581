"""The cluster on the log: its members, its views over time, and why each was made."""

from callboard.board.topology.telling import explained_lines, member_words, summary
from callboard.web.console.page import Question, Shown

ROWS = 50
"""Changes on a page."""


async def topology(asked: Question) -> Shown:
    """The members in their order, the leader, and whether the view is settled."""
    found = asked.reading.cluster
    assert found is not None, "it was read"
    return {"found": found, "summary": summary(found), "words": member_words}


async def changes(asked: Question) -> Shown:
    """Who joined, left or was evicted and why, leaders and commands; the whole topic is read for it."""
    cursor = asked.text("cursor")
    return {"history": await asked.board.topology.history(cursor=cursor, limit=ROWS), "cursor": cursor}


async def view(asked: Question) -> Shown:
    """The record that made a view, the evidence, who acknowledged it when, and refusals nearby."""
    found = await asked.board.topology.explain(asked.number("epoch"))
    return {"found": found, "lines": list(explained_lines(found, asked.board.context.now_ns()))}
