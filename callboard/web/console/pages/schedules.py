"""What adds jobs at its ticks."""

from callboard.board.jobs.wording import on_clocks, rule_words
from callboard.web.console.page import Question, Shown

TICKS = 5
"""The next ones that are shown."""

ROWS = 100
"""Schedules on a page."""


async def schedules(asked: Question) -> Shown:
    """The schedules by name, with their next ticks."""
    jobs, at = asked.board.jobs, asked.whole("at", 0)
    found = await jobs.schedules()
    rows = []
    for each in found[at : at + ROWS]:
        ticks = () if each.problem else await jobs.next_ticks(each.name, TICKS)
        times = [on_clocks(ms, each.zone) for ms in ticks]
        rows.append((each, rule_words(each), times, on_clocks(each.last_ms, each.zone)))
    return {"rows": rows, "at": at, "found": len(found), "per_page": ROWS}
