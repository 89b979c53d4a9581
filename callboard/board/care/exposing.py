"""What people and programs look at: metrics, how far folds are, and the history of an entity."""

import asyncio
from collections.abc import AsyncGenerator
from itertools import chain
from typing import TYPE_CHECKING, Any

from callboard.board.context import BoardContext
from callboard.board.read import questions
from callboard.door.limits import ANSWER_S

if TYPE_CHECKING:  # a board without entities does not load these
    from callboard.board.entities.health.fold_report import FoldReport
    from callboard.board.entities.replay.replayed import Replayed


async def metrics(board: BoardContext, timeout_s: float = ANSWER_S) -> str:
    """The status as metrics, in the text format of Prometheus."""
    from callboard.board.entities.health.metrics import fold_metrics
    from callboard.board.jobs.health.metrics import job_metrics
    from callboard.board.read.status.families import exposed

    found = chain(await questions.metrics(board, timeout_s), await job_metrics(board), await fold_metrics(board))
    return await asyncio.to_thread(exposed, found)  # that takes long for a large fleet


async def folds(board: BoardContext) -> "tuple[FoldReport, ...]":
    """How far the entities, processes, projections and reactions are that run, in any process, by what they announce.
    Nothing is written.
    """
    from callboard.board.entities.health import fold_report

    return await fold_report.folds(board)


def replay(
    board: BoardContext, of: type[Any], key: str, *, start: int = 0, to: int | None = None
) -> "AsyncGenerator[Replayed, None]":
    """How an entity, or a row of a projection, came to be what it is: each commit of the entity that counts, or each
    event that changed the row, and what it was after that. The log is folded again, in memory, with the class as it is
    in this process; nothing is written, and no store is read.

    Events of several topics come in the order of their times; a projection may have read them in another one.

    Args:
        board: the open board.
        of: a class of entities or processes, or a projection.
        key: of the entity, or of the row.
        start: begin with what is at this offset.
        to: end after this offset. Both are for classes with one topic.

    Raises:
        ConfigError: the class is none of these.
        RequestRefused: wrong arguments, no such key, or the first records of a topic were removed (``gone``).
        SchemaTooNew, Undecodable: an event cannot be read or applied, once what was before it was yielded.
    """
    from callboard.board.entities.replay import replaying

    return replaying.replay(board, of, key, start=start, to=to)
