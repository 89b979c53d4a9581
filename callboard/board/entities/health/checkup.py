"""The health of folds, for ``callboard doctor``."""

from collections.abc import Iterator, Sequence
from contextlib import suppress

from callboard.actors.entities.announcer import TROUBLES_MAX
from callboard.backends.examination import Finding, advice, ok, problem
from callboard.board.context import BoardContext
from callboard.board.entities.health.fold_report import SILENT, STOPPED, FoldReport, folds
from callboard.errors import OffsetOutOfRange
from callboard.messages.bounds import clipped

LATE_S = 60.0
"""A fold reads what is new at once, unless it is held up."""

FINDINGS_MAX = 100
"""One for each of the folds that are wrong, up to this number."""

NAME_CHARS_MAX = 100
TEXT_CHARS_MAX = 500


async def examine_folds(board: BoardContext) -> list[Finding]:
    """Examine entities, processes, projections and reactions; nothing if none runs."""
    rows = await folds(board)
    if not rows:
        return []
    found = [finding for row in rows for finding in (*findings(row, rows), *await _late(board, row))]
    more = [advice(f"and {len(found) - FINDINGS_MAX} more", "correct these first")] if len(found) > FINDINGS_MAX else []
    return [*found[:FINDINGS_MAX], *more, ok(f"folds that run: {len(rows)}")]


def findings(row: FoldReport, others: Sequence[FoldReport]) -> Iterator[Finding]:
    """What is wrong with it, and what helps; ``others`` are all that were heard of."""
    what = _named(row)
    if row.state == SILENT:
        silence = f"{what}: not heard of for {row.seen_s:.0f} s"
        if any(each.state != SILENT and (each.kind, each.name) == (row.kind, row.name) for each in others):
            yield advice(f"{silence}; others go on", "see why its process ended, or does not reach the log")
        else:
            yield problem(f"{silence}, and no other process does its work", "start the service, or see its log")
        return
    if row.state == STOPPED:
        yield problem(f"{what} is stopped: {_text(row.problem)}", "see docs/folds.md for what to do")
        return
    yield from _troubles(row, what)
    if row.refused:
        said = f"{what}: commands refused since it started: {row.refused}"
        yield advice(said, "see the lines reaction.refused in the log of the service")


async def _late(board: BoardContext, row: FoldReport) -> list[Finding]:
    """Whether it had not read what was there for long, when it said how far it is."""
    if row.state in {SILENT, STOPPED}:
        return []
    said_ns, late_s = board.now_ns() - row.seen_s * 1e9, 0.0
    for topic, behind in row.behind.items():
        if behind:
            first, end = await board.log.bounds(topic)
            with suppress(OffsetOutOfRange):  # it was trimmed meanwhile
                unread = await board.log.read(topic, max(first, end - behind), 1)
                late_s = max([late_s, *((said_ns - record.time_ns) / 1e9 for record in unread)])
    if late_s <= LATE_S:
        return []
    what = f"{_named(row)} is {row.behind_all} offsets behind, and has not read what was {late_s:.0f} s old"
    return [advice(what, "wait if it has just started; else see what slows it down: its code, or its store")]


def _named(row: FoldReport) -> str:
    return " ".join(clipped(each, NAME_CHARS_MAX) for each in (row.kind, row.name, "on", row.instance))


def _troubles(row: FoldReport, what: str) -> Iterator[Finding]:
    unreadable = row.troubles[: min(row.unreadable, TROUBLES_MAX)]
    if row.unreadable:
        said = f"{what}: the state of {row.unreadable} is not known, such as {_text(next(iter(unreadable), ''))}"
        yield problem(said, "start a version of the service that can read their events: see `callboard replay`")
    if delayed := row.troubles[len(unreadable) :]:
        said = f"{what}: tasks that are delayed: {len(delayed)}, such as {_text(delayed[0])}"
        yield problem(said, "they are tried again for ever; see `callboard replay` for what a process waits for")


def _text(text: str) -> str:
    return clipped(text, TEXT_CHARS_MAX)
