"""The messages of the job topic, in words."""

from collections.abc import Sequence

from callboard.board.topology.wording import because, named
from callboard.messages.event import Event
from callboard.messages.jobs.job_messages import (
    JobCommandMessage,
    JobsAddedMessage,
    JobsEndedMessage,
    JobsLeasedMessage,
    JobsSnapshotMessage,
    ScheduleCommandMessage,
    ScheduleMessage,
    WorkerGoneMessage,
    WorkerMessage,
)


def about(event: Event) -> str:  # noqa: PLR0911 - one line a message
    """What the message does or tells, in a line."""
    match event:
        case JobsAddedMessage():
            return f"{event.schedule or event.creator}: adds {len(event.payloads)} of {named(event.topics)}"
        case JobsLeasedMessage(jobs=()):
            return f"{event.dispatcher}: dispatches from now on"
        case JobsLeasedMessage():
            return f"{event.dispatcher}: leases {_ids(event.jobs)} to {named(event.workers)}"
        case JobsEndedMessage():
            return f"{event.worker}: has ended {_ids(event.jobs)}"
        case WorkerMessage():
            return f"{event.instance}: runs {event.slots} at a time of {named(event.topics)}"
        case WorkerGoneMessage():
            return f"{event.incarnation}: runs no more"
        case ScheduleMessage():
            return f"{event.author}: schedules {event.topic} as {event.name}"
        case JobsSnapshotMessage():
            return f"{event.writer}: snapshot of offset {event.as_of}, part {event.part + 1} of {event.parts or '?'}"
        case JobCommandMessage() | ScheduleCommandMessage():
            return f"{event.author}: {_command(event)}{because(event.reason)}"
        case _:
            return ""


def _command(event: JobCommandMessage | ScheduleCommandMessage) -> str:
    for name in ("stop", "drop", "forget", "suspend", "resume", "remove"):
        if value := getattr(event, name, None):
            return f"{name} {value if isinstance(value, str) else _ids(value)}"
    configure = getattr(event, "configure", None)
    return f"configure {configure.name}" if configure else "nothing"


def _ids(jobs: Sequence[int]) -> str:
    return named([str(job) for job in jobs])
