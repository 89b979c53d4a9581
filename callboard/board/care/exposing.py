"""What people and programs look at: metrics, and how far folds are."""

from typing import TYPE_CHECKING

from callboard.board.context import BoardContext
from callboard.board.read import questions
from callboard.door.limits import ANSWER_S

if TYPE_CHECKING:  # a board without entities does not load these
    from callboard.board.entities.health.fold_report import FoldReport


async def metrics(board: BoardContext, timeout_s: float = ANSWER_S) -> str:
    """The status as metrics, in the text format of Prometheus."""
    from callboard.board.entities.health.metrics import fold_metrics
    from callboard.board.jobs.health.metrics import job_metrics

    return await questions.metrics(board, timeout_s) + await job_metrics(board) + await fold_metrics(board)


async def folds(board: BoardContext) -> "tuple[FoldReport, ...]":
    """How far the entities, processes, projections and reactions are that run, in any process, by what they announce.
    Nothing is written.
    """
    from callboard.board.entities.health import fold_report

    return await fold_report.folds(board)
