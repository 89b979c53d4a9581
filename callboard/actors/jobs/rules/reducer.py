"""The fold over the job topic: all readers of the same records have the same jobs.

It has no clock, no randomness and no configuration: settings are records, and time is append time.
"""

from collections.abc import Callable, Iterator, Mapping
from typing import Any

from callboard.actors.jobs.jobs import At, Jobs
from callboard.actors.jobs.rules.adding import add
from callboard.actors.jobs.rules.commanding import command
from callboard.actors.jobs.rules.ending import end
from callboard.actors.jobs.rules.leasing import dismiss, lease, welcome
from callboard.actors.jobs.rules.refusals import Refusal
from callboard.actors.jobs.rules.reporting import report
from callboard.actors.jobs.schedules.scheduling import command as command_schedule
from callboard.actors.jobs.schedules.scheduling import schedule
from callboard.messages.event import Event
from callboard.messages.jobs.job_messages import (
    JobCommandMessage,
    JobsAddedMessage,
    JobsEndedMessage,
    JobsLeasedMessage,
    ScheduleCommandMessage,
    ScheduleMessage,
    WorkerGoneMessage,
    WorkerMessage,
)
from callboard.messages.jobs.progress_messages import JobsProgressedMessage

RECENT_MAX = 10_000
"""Records that come between the planning of a lease and the lease, at the most: more make it void."""


def apply(jobs: Jobs, at: At, message: Event) -> dict[int, str]:
    """Apply the next record's message; returns what it did not do."""
    rule = RULES.get(type(message))
    refused = dict(rule(jobs, at, message)) if rule else {}
    jobs.recent[at.offset] = at.ms
    if len(jobs.recent) > RECENT_MAX:
        del jobs.recent[next(iter(jobs.recent))]
    return refused


RULES: Mapping[type[Event], Callable[[Jobs, At, Any], Iterator[Refusal]]] = {
    JobsAddedMessage: add,
    JobsLeasedMessage: lease,
    JobsEndedMessage: end,
    JobsProgressedMessage: report,
    WorkerMessage: welcome,
    WorkerGoneMessage: dismiss,
    JobCommandMessage: command,
    ScheduleMessage: schedule,
    ScheduleCommandMessage: command_schedule,
}
"""The rule for each message that changes jobs."""
