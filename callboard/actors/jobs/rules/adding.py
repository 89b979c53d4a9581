"""The rule for new jobs."""

from collections import defaultdict
from collections.abc import Iterator

from callboard.actors.jobs.flows import placed
from callboard.actors.jobs.jobs import At, Jobs
from callboard.actors.jobs.rules.refusals import WHOLE, Refusal
from callboard.actors.jobs.schedules.scheduling import tick
from callboard.messages.jobs.job_messages import JobOptions, JobsAddedMessage, job_id

TOPICS_MAX = 10_000
"""Topics of jobs: they are kept for ever, and the dispatcher looks at all of them."""

REQUESTS_MAX = 10_000
"""Requests that are remembered: an append whose outcome is unknown is repeated within seconds."""


def add(jobs: Jobs, at: At, added: JobsAddedMessage) -> Iterator[Refusal]:
    """Add the jobs, but none for a tick that its schedule has had, and none with a key that another job has."""
    if refused := next(tick(jobs, added) if added.schedule else _requested(jobs, at, added), None):
        yield refused
        return
    if (topics := _numbered(jobs, added)) is None:
        yield (
            WHOLE,
            f"there are jobs of {TOPICS_MAX} topics already; use one of them, and put the rest into the payload",
        )
        return
    _remember(jobs, at, added)
    jobs.table.add(at.offset, topics, at.ms)
    jobs.tallies.since_ms = jobs.tallies.since_ms or at.ms
    special = {options.job: options for options in added.options}
    plain: defaultdict[int, list[int]] = defaultdict(list)
    first = job_id(at.offset, 0)
    for job, topic in enumerate(topics, first):
        if job - first not in special:
            plain[topic].append(job)
    for topic, its in plain.items():
        jobs.waiting.add(topic, its)
    for place, options in special.items():
        yield from _special(jobs, at, first + place, options, added.earlier)
    if preferring := {topic for topic in dict.fromkeys(topics) if jobs.queue_of(topic).prefer_creator}:
        homesick = (job for job, topic in enumerate(topics, first) if topic in preferring and jobs.is_open(job))
        jobs.creators.update(dict.fromkeys(homesick, added.creator))


def _requested(jobs: Jobs, at: At, added: JobsAddedMessage) -> Iterator[Refusal]:
    if (earlier := jobs.requests.get(added.request)) is not None:
        yield WHOLE, f"they were added by the record at offset {earlier}"
    elif -1 < added.void_from <= at.offset:
        yield WHOLE, f"they came too late: they are void from offset {added.void_from} on"


def _remember(jobs: Jobs, at: At, added: JobsAddedMessage) -> None:
    """Remember a request once its jobs are added."""
    if not added.schedule:
        jobs.requests[added.request] = at.offset
        if len(jobs.requests) > REQUESTS_MAX:
            del jobs.requests[next(iter(jobs.requests))]


def _numbered(jobs: Jobs, added: JobsAddedMessage) -> list[int] | None:
    """The number of each job's topic; None if there are too many topics."""
    numbers = jobs.numbers
    new = [topic for topic in dict.fromkeys(added.topics) if topic not in numbers]
    if len(numbers) + len(new) > TOPICS_MAX:
        return None
    for topic in new:
        numbers[topic] = len(jobs.topics)
        jobs.topics.append(topic)
    table = [numbers[topic] for topic in added.topics]
    return [table[place] for place in added.topic_of]


def _special(jobs: Jobs, at: At, job: int, options: JobOptions, earlier: tuple[str, ...]) -> Iterator[Refusal]:
    """Add a job with options."""
    if options.after:
        options = placed(options, at.offset, earlier, jobs.requests)
    if options.unique and (other := jobs.unique.job(options.unique, at.ms)) is not None:
        jobs.table.forget(jobs.table.find(job))
        yield job, f"job {other} has the same key {options.unique!r}"
        return
    if (unknown := jobs.flows.unknown(job, options)) is not None:
        jobs.table.forget(jobs.table.find(job))
        yield job, f"it is to wait for job {unknown}, which is unknown or forgotten"
        return
    if options.unique:
        jobs.unique.give(options.unique, job, at.ms + options.unique_ms)
    jobs.options[job] = options
    jobs.enter(job, at)
