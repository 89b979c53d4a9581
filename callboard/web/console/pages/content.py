"""What a package brought or removed, beside the publisher's package before it."""

from collections import Counter

from callboard.board.read.packages.content import package_content
from callboard.web.console.page import Question, Shown

ROWS = 200
CHANGES = ("new", "changed", "removed", "same")


async def content(asked: Question) -> Shown:
    """A page of the paths."""
    found = await package_content(asked.board.context, asked.number("offset"))
    change = asked.choice("change", CHANGES)
    rows = [row for row in found.rows if change in ("", row.change)]
    at = min(asked.whole("at", 0), max(len(rows) - 1, 0)) // ROWS * ROWS
    counted = Counter[str](row.change for row in found.rows)
    return {
        "content": found,
        "rows": rows[at : at + ROWS],
        "counted": [(name, counted[name]) for name in CHANGES if counted[name]],
        "change": change,
        "bytes": sum(row.size for row in found.rows),
        "at": at,
        "found": len(rows),
        "per_page": ROWS,
    }
