"""The health of an outbox, for ``callboard doctor`` and ``callboard outbox``."""

from collections.abc import Iterator
from typing import TYPE_CHECKING

from callboard.backends.examination import Finding, ok, problem, problem_of
from callboard.board.jobs.outbox.outbox import Outbox
from callboard.errors import CallboardError

if TYPE_CHECKING:
    from callboard.backends.postgres.outbox import OutboxState

WAIT_MAX_S = 60.0
"""A runner takes seconds, and a restart of it less than a minute."""


async def examine_outbox(outbox: Outbox) -> list[Finding]:
    """Examine the outbox."""
    try:
        return list(findings(await outbox.state()))
    except CallboardError as error:
        return [problem_of(error)]


def findings(state: "OutboxState") -> Iterator[Finding]:
    """What its state tells."""
    if state.oldest_s > WAIT_MAX_S:
        yield problem(
            f"jobs that wait in the outbox: {state.waiting}, the oldest for {state.oldest_s:.0f} s",
            "see that `callboard run outbox` runs, and what it logs",
        )
    if state.set_aside:
        yield problem(
            f"jobs set aside in the outbox: {state.set_aside}; for example: {state.problem}",
            "look at their `problem` in the table callboard_outbox; then delete the rows, or have them tried again: "
            "UPDATE callboard_outbox SET problem = NULL WHERE id = ...",
        )
    if state.oldest_s <= WAIT_MAX_S:
        yield ok(f"jobs that wait in the outbox: {state.waiting}")
