"""What adds jobs at its ticks."""

from callboard.board.jobs.wording import on_clocks, rule_words
from callboard.web.console.page import Question, Shown

TICKS = 5
"""The next ones that are shown."""


async def schedules(asked: Question) -> Shown:
    """Every schedule, with its next ticks."""
    jobs = asked.board.jobs
    rows = []
    for each in await jobs.schedules():
        ticks = () if each.problem else await jobs.next_ticks(each.name, TICKS)
        times = [on_clocks(ms, each.zone) for ms in ticks]
        rows.append((each, rule_words(each), times, on_clocks(each.last_ms, each.zone)))
    return {"rows": rows}
