"""The cluster on the log: its members, its views over time, and why each was made."""

from callboard.board.topology.telling import explained_lines, member_words, summary
from callboard.board.topology.view import no_cluster
from callboard.messages.topics import control_topic
from callboard.web.console.page import Question, Shown

ROWS = 50
"""Changes on a page."""


async def topology(asked: Question) -> Shown:
    """The members in their order, the leader, and whether the view is settled."""
    board = asked.board
    found = asked.now.cluster or no_cluster(control_topic(board.settings.prefix), board.context.now_ns())
    return {"found": found, "summary": summary(found), "words": member_words}


async def changes(asked: Question) -> Shown:
    """Who joined, left or was evicted and why, leaders and commands; the whole topic is read for it."""
    cursor = asked.text("cursor")
    return {"history": await asked.board.topology.history(cursor=cursor, limit=ROWS), "cursor": cursor}


async def view(asked: Question) -> Shown:
    """The record that made a view, the evidence, who acknowledged it when, and refusals nearby."""
    found = await asked.board.topology.explain(asked.number("epoch"))
    return {"found": found, "lines": list(explained_lines(found, asked.board.context.now_ns()))}
