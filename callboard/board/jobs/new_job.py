"""A job to add."""

import json
from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, fields
from itertools import islice
from operator import attrgetter
from typing import TypedDict, Union

from callboard.board.jobs.job import Job
from callboard.door import jobs as door
from callboard.door.rules import shown
from callboard.errors import RequestRefused
from callboard.messages.jobs.job_messages import QUEUE_DECIDES, JobOptions
from callboard.messages.jobs.ranges import ranges_of

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
    after: Collection[Union[int, Job, "NewJob"]]
    after_failures: bool
    context: Mapping[str, str] | None


@dataclass(frozen=True, slots=True, kw_only=True)
class NewJob:
    """A job to add.

    Args:
        topic: what to do, such as ``mail/send``: it selects the queue, and the function that a worker runs.
        payload: anything that JSON can hold; a pydantic model; or bytes, passed on as
            they are, unless they are JSON.
        delay_s: seconds until it is due.
        priority: -100 to 100; of all jobs that are due, the highest is started first.
        lane: jobs of a lane run one after another, in the order in which they were added or became due.
        unique: while a job with this key is unfinished, no other one is added.
        unique_s: nor within this many seconds after it was added.
        retries: how often it is tried again; -1 for ever, None as its queue says.
        timeout_s: seconds that an attempt may take; 0 as its queue says.
        title: for display.
        after: jobs that must have ended before it is started: ids, jobs that were added, or new ones that are before it
            in the same call. If one of them does not succeed, it is dropped.
        after_failures: run it then all the same.
        context: texts by their names, up to 10 of up to 200 characters, that are bound in the logs of its function;
            None for those that are bound where it is added, by the names in ``job_context`` of the board.
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
    after: Collection[Union[int, Job, "NewJob"]] = ()
    after_failures: bool = False
    context: Mapping[str, str] | None = None

    @classmethod
    def of(cls, topic: str, payload: object, its: JobOptions) -> "NewJob":
        """A job with these options, except for when it is due and what it waits for."""
        return cls(
            topic=topic, payload=payload, priority=its.priority, lane=its.lane, unique=its.unique,
            unique_s=its.unique_ms / 1000, retries=None if its.retries == QUEUE_DECIDES else its.retries,
            timeout_s=its.timeout_ms / 1000, title=its.title,
        )  # fmt: skip

    @property
    def is_plain(self) -> bool:
        """Whether it has no options, apart from a context."""
        return _options(self) == _DEFAULTS

    def options(self, place: int, now_ms: int, after: Collection[int] = ()) -> JobOptions | None:
        """Its options as a message, at this place of a batch; None if it has none. It waits for the jobs ``after``."""
        if self.is_plain:
            return None
        first, many = ranges_of(after)
        return JobOptions(
            job=place,
            due_ms=now_ms + int(self.delay_s * 1000) if self.delay_s else 0,
            priority=self.priority,
            lane=self.lane,
            unique=self.unique,
            unique_ms=int(self.unique_s * 1000),
            retries=QUEUE_DECIDES if self.retries is None else self.retries,
            timeout_ms=int(self.timeout_s * 1000),
            title=self.title,
            after=first,
            after_counts=many,
            after_failures=self.after_failures,
        )

    @property
    def known(self) -> list[int]:
        """The ids of the jobs that it waits for, without the new ones."""
        return [each.id if isinstance(each, Job) else each for each in self.after if not isinstance(each, NewJob)]


_NAMES = tuple(each.name for each in fields(NewJob) if each.name not in ("topic", "payload", "context"))
_options = attrgetter(*_NAMES)
_DEFAULTS = _options(NewJob(topic="a"))
_ENCODER = json.JSONEncoder(allow_nan=False, separators=(",", ":"))


def following(jobs: Sequence[NewJob]) -> dict[int, list[int]]:
    """The places of the jobs that wait for others of the same call, and of those.

    Raises ``RequestRefused`` for others that cannot be waited for.
    """
    found: dict[int, list[int]] = {}
    places: defaultdict[int, list[int]] = defaultdict(list)
    if not any(job.after for job in jobs):
        return found
    for place, job in enumerate(jobs):
        if others := [each for each in job.after if isinstance(each, NewJob)]:
            if any(id(each) not in places for each in others):
                raise RequestRefused("a job waits for one that is not before it in the same call; add that first")
            if keys := [each.unique for each in others if each.unique]:
                raise RequestRefused(
                    f"a job waits for one with the key {keys[0]!r}, which is not added if another has it; "
                    "add that in a call of its own, and wait for the id that you get"
                )
            found[place] = [other for each in others for other in places[id(each)]]
        places[id(job)].append(place)
    return found


def encoded(payload: object) -> bytes:
    """The payload as bytes. Raises ``RequestRefused`` for what JSON cannot hold."""
    if isinstance(payload, bytes):
        return payload
    try:
        if hasattr(payload, "SerializeToString"):  # a protobuf message
            return bytes(payload.SerializeToString())
        if hasattr(payload, "model_dump_json"):  # pydantic's, which is slow to import
            return str(payload.model_dump_json()).encode()
        return _ENCODER.encode(payload).encode()
    except (TypeError, ValueError, RecursionError) as error:
        raise RequestRefused(f"the payload cannot be JSON: {error}; use only what JSON can hold, or bytes") from error


def checked_jobs(jobs: Iterable[NewJob]) -> list[NewJob]:
    """The jobs of one call, as a list. Raises ``RequestRefused``."""
    if not isinstance(jobs, Iterable):
        raise RequestRefused(f"{shown(jobs)} is no list of jobs")
    given = list(islice(jobs, door.JOBS_MAX + 1))
    if len(given) > door.JOBS_MAX:
        raise RequestRefused(f"{door.JOBS_MAX} jobs are the most in one call; add the rest in another")
    for each in given:
        if not isinstance(each, NewJob):
            raise RequestRefused(f"{shown(each)} is no NewJob")
        names = ("topic",) if each.is_plain and each.context is None else NewJob.__slots__
        for name, value in door.new_job(**{name: getattr(each, name) for name in names}).items():
            if value is not getattr(each, name):  # as a member of an enum; in place, as others may wait for this job
                object.__setattr__(each, name, value)
    return given
