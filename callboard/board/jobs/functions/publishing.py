"""The job that publishes an event, which every worker runs: with a schedule, events come at its ticks."""

from collections.abc import Awaitable, Callable
from typing import Any

from callboard.board.context import BoardContext
from callboard.board.events import distributed_event as events
from callboard.board.jobs.work.running_job import RunningJob
from callboard.errors import CancelJob, RequestRefused
from callboard.messages.topics import job_topic

PUBLISH = "callboard/publish"
"""The topic of these jobs. Their payload has the ``topic`` of the event, and its ``properties`` if it has any."""


def publishing(board: BoardContext) -> Callable[[Any, RunningJob], Awaitable[None]]:
    """The function of these jobs. An attempt that is repeated does not publish the event again."""

    async def publish(payload: Any, job: RunningJob) -> None:
        number = f"{await board.log.identity(job_topic(board.settings.prefix))}/{job.id}"
        try:
            await events.publish(board, payload["topic"], payload.get("properties"), number)
        except (RequestRefused, TypeError, KeyError) as error:
            example = '{"topic": "shop/open", "properties": {}}'
            raise CancelJob(f"the payload is not that of an event, like {example}: {error}") from error

    return publish
