"""The metrics of a board."""

from callboard.board.context import BoardContext
from callboard.board.read import questions
from callboard.door.limits import ANSWER_S


async def metrics(board: BoardContext, timeout_s: float = ANSWER_S) -> str:
    """The status as metrics, in the text format of Prometheus."""
    from callboard.board.jobs.health.metrics import job_metrics

    return await questions.metrics(board, timeout_s) + await job_metrics(board)
