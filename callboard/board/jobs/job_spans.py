"""The spans of jobs that are added, and of their attempts; see docs/tracing.md."""

from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager

from callboard.board.jobs.log_context import TRACEPARENT
from callboard.board.jobs.new_job import NewJob
from callboard.board.jobs.work.ending import Ending
from callboard.board.jobs.work.running_job import RunningJob
from callboard.errors import RetryJob
from callboard.messages.jobs.job_messages import Outcome
from callboard.telemetry.spans import OUTCOME, Attributes, Span, consuming, producing


def adding(jobs: Sequence[NewJob]) -> AbstractContextManager[Span]:
    """The span in which jobs are added."""
    topics = {job.topic for job in jobs}
    where = topics.pop() if len(topics) == 1 else "several topics"
    return producing("add", where, {"messaging.batch.message_count": len(jobs)})


@contextmanager
def attempting(job: RunningJob) -> Iterator[Span]:
    """The span of an attempt, linked with the one in which the job was added."""
    about: Attributes = {"messaging.message.id": str(job.id), "callboard.attempt": job.attempt}
    with consuming("run", [(job.topic, job.context.get(TRACEPARENT, ""), about)]) as [span]:
        yield span


def tell(span: Span, ending: Ending) -> None:
    """The attempt has ended."""
    if ending.error is not None or ending.outcome is Outcome.FAILED:
        span.fail(ending.error or RetryJob(ending.message))
    span.set({OUTCOME: ending.outcome.name.lower()})
