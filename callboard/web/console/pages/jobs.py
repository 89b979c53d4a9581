"""Jobs: what waits and runs in each queue, who runs it, the newest jobs, and the life of each."""

from callboard.board.envelope import written
from callboard.board.jobs.finding.finding import JobQuery
from callboard.board.jobs.finding.templates import condition_in
from callboard.board.jobs.wording import event_words, job_lines, since, state_words, worker_topics
from callboard.door.jobs import STATES
from callboard.errors import RequestRefused
from callboard.web.console.drawing import clock
from callboard.web.console.page import Question, Shown
from callboard.web.console.plots.plots import plots_of

ROWS = 50
"""Jobs on a page."""

OTHERS = 200
"""Queues, and workers, on a page; the others are on the command line."""

EVENTS = 500
"""Events of one job, the newest."""

NS_PER_MS = 1_000_000

FILTERS = ("queue", "topic", "state", "where")


async def jobs(asked: Question) -> Shown:
    """The queues, the workers, and a page of the newest jobs that fit the query."""
    now_ms = asked.board.context.now_ns() / NS_PER_MS
    chosen = {name: asked.text(name) for name in FILTERS}
    shown = {
        "chosen": chosen, "states": STATES, "after": asked.text("after"), "topics": worker_topics,
        "queues": [(each, _per_minute(asked, each.name)) for each in asked.reading.queues[:OTHERS]],
        "workers": asked.now.workers[:OTHERS],
        "words": lambda job: state_words(job, now_ms), "since": lambda ms: since(ms, now_ms),
        "plots": plots_of(asked, "queues", "jobs", queue=chosen["queue"]),
    }  # fmt: skip
    if asked.now.problem:
        return shown | {"page": None}
    query = JobQuery()
    if chosen["queue"]:
        query["queue"] = chosen["queue"]
    if chosen["topic"]:
        query["topic"] = chosen["topic"]
    if chosen["where"]:
        query["where"] = dict([condition_in(chosen["where"])])
    states = chosen["state"] or ("open", "history")
    after = asked.whole("after", -1) if asked.text("after") else -1
    page = await asked.board.jobs.find(states, after=after, limit=ROWS, newest=True, order="added", **query)
    return shown | {"page": page}


def _per_minute(asked: Question, queue: str) -> str:
    """How many jobs of the queue have ended in a minute, lately; empty if that is not known yet."""
    found = asked.now.history.per_minute(("ended", queue), asked.board.context.now_ns() / 1e9)
    return "" if found is None else f"{found:.3g}"


async def job(asked: Question) -> Shown:
    """One job: its state, payload, progress and result."""
    number, board = asked.number("id"), asked.board
    if (found := await board.jobs.get(number)) is None:
        why = f"there is no job {number}, or no longer; the log may still tell its life, at /jobs/{number}/life"
        raise RequestRefused(why, code="not_found")
    lines = list(job_lines(found, board.context.now_ns() / NS_PER_MS))
    return {"its": found, "lines": lines, "written": written}


async def life(asked: Question) -> Shown:
    """What became of a job, by whom and why; the whole topic is read for it."""
    number = asked.number("id")
    if not (found := await asked.board.jobs.history(number)):
        raise RequestRefused(f"nothing is known of job {number}", code="not_found")
    events = [(event.time_ms * NS_PER_MS, event_words(event, _clock)) for event in found[-EVENTS:]]
    return {"number": number, "events": events, "left_out": len(found) - len(events)}


def _clock(ms: int) -> str:
    return clock(ms * NS_PER_MS)
