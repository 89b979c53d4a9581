"""A job to add."""

import json
from dataclasses import dataclass
from typing import TypedDict

from callboard.errors import RequestRefused
from callboard.messages.jobs.job_messages import QUEUE_DECIDES, JobOptions

Json = None | bool | int | float | str | list["Json"] | dict[str, "Json"]
"""What JSON can hold."""


class NewJobOptions(TypedDict, total=False):
    """The options of a job, with the meaning and the defaults of ``NewJob``."""

    delay_s: float
    priority: int
    lane: str
    unique: str
    unique_s: float
    retries: int | None
    timeout_s: float
    title: str


@dataclass(frozen=True, slots=True, kw_only=True)
class NewJob:
    """A job to add.

    Args:
        topic: what to do, such as ``mail/send``: it selects the queue, and the function that a worker runs.
        payload: anything that JSON can hold; a pydantic model; or bytes, passed on as they are.
        delay_s: seconds until it is due.
        priority: -100 to 100; of all jobs that are due, the highest is started first.
        lane: jobs of a lane run one after another, in the order in which they were added or became due.
        unique: while a job with this key is unfinished, no other one is added.
        unique_s: nor within this many seconds after it was added.
        retries: how often it is tried again; -1 for ever, None as its queue says.
        timeout_s: seconds that an attempt may take; 0 as its queue says.
        title: for display.
    """

    topic: str
    payload: object = None
    delay_s: float = 0.0
    priority: int = 0
    lane: str = ""
    unique: str = ""
    unique_s: float = 0.0
    retries: int | None = None
    timeout_s: float = 0.0
    title: str = ""

    def options(self, place: int, now_ms: int) -> JobOptions | None:
        """Its options as a message, at this place of a batch; None if it has none."""
        plain = JobOptions(job=place)
        options = JobOptions(
            job=place,
            due_ms=now_ms + int(self.delay_s * 1000) if self.delay_s else 0,
            priority=self.priority,
            lane=self.lane,
            unique=self.unique,
            unique_ms=int(self.unique_s * 1000),
            retries=QUEUE_DECIDES if self.retries is None else self.retries,
            timeout_ms=int(self.timeout_s * 1000),
            title=self.title,
        )
        return None if options == plain else options


def encoded(payload: object) -> bytes:
    """The payload as bytes. Raises ``RequestRefused`` for what JSON cannot hold."""
    if isinstance(payload, bytes):
        return payload
    try:
        if hasattr(payload, "model_dump_json"):  # pydantic's, which is slow to import
            return str(payload.model_dump_json()).encode()
        return json.dumps(payload, allow_nan=False, separators=(",", ":")).encode()
    except (TypeError, ValueError, RecursionError) as error:
        raise RequestRefused(f"the payload cannot be JSON: {error}; use only what JSON can hold, or bytes") from error
