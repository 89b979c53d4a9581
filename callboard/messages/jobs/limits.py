"""The limits of the job topic's messages. They are part of the protocol: readers with other limits would have other
jobs.
"""

import re
from collections.abc import Callable, Sequence
from typing import Any

from callboard.errors import Undecodable
from callboard.messages.event import Event
from callboard.messages.jobs.job_messages import (
    BATCH_MAX,
    QUEUE_DECIDES,
    JobCommandMessage,
    JobOptions,
    JobQueue,
    JobsAddedMessage,
    JobsEndedMessage,
    JobsLeasedMessage,
    JobsSnapshotMessage,
    Outcome,
    ScheduleCommandMessage,
    ScheduleMessage,
    WorkerMessage,
    offset_of,
    place_of,
)
from callboard.messages.jobs.progress_messages import JobsProgressedMessage

TOPIC = re.compile(r"[A-Za-z0-9_-]+(/[A-Za-z0-9_-]+)*")
"""The topic of a job."""

PATTERN = re.compile(r"\*\*|[A-Za-z0-9_-]+(/[A-Za-z0-9_-]+)*(/\*{1,2})?")
"""A topic, its children (``/*``), all below it (``/**``), or all topics (``**``)."""

NAME = re.compile(r"[^\x00-\x1f\x7f]{1,200}")
"""Keys, lanes, and names of queues and schedules."""

UNSAFE = re.compile(r"[^A-Za-z0-9 _,.+#!?$%&()=-]+")
"""Characters that a part of a topic cannot bring into the name of a queue."""

TOPIC_CHARS_MAX = 200
PATTERNS_MAX = 1000
PAYLOAD_BYTES_MAX = 256 << 10
"""Of one job: what is larger belongs into a package or a blob."""

RESULT_BYTES_MAX = 16 << 10
SCHEDULE_PAYLOAD_BYTES_MAX = 16 << 10
"""Every reader keeps it in memory."""

CRONS_MAX = 100
"""Cron expressions of one schedule."""

CRON_CHARS_MAX = 200
EVERY_MS_MIN = 1000
CATCH_UP_MAX = 1000
PRIORITY_MAX = 100
AFTER_MAX = 10_000
"""Ranges of jobs that those of one record wait for."""

RATE_MAX = 1_000_000
RATE_MS_MAX = 86_400_000
SLOTS_MAX = 10_000
LINES_MAX = 100
"""Lines of a job's log that are kept: every reader has those of all running jobs."""

LINE_CHARS_MAX = 500
SAVED_BYTES_MAX = 4 << 10
"""What a job saves for its next attempt."""

TAGS_MAX = 100
CONTEXT_NAMES_MAX = 10
CONTEXT_CHARS_MAX = 200
"""Of a name, and of a value: an id of a request or a trace is much shorter."""

MS_MAX = 10**12
"""Durations, 31 years."""

TIME_MS_MAX = 2**53
"""Times since the epoch."""

JOB_MAX = 2**63 - 1


def check_message(event: Event) -> None:
    """Raise ``Undecodable`` for a message that is out of bounds."""
    if (check := _CHECKS.get(type(event))) is not None:
        check(event)


def check_queue(queue: JobQueue) -> None:
    """Raise ``Undecodable`` for invalid settings of a queue."""
    its = queue
    _name("queue", its.name)
    _patterns(its.topics)
    demand(bool(its.topics), f"the queue {its.name!r} has no topics")
    demand(0 <= its.parallel <= SLOTS_MAX, f"parallel is {its.parallel}, not 0 to {SLOTS_MAX}")
    demand(0 <= its.cluster_parallel <= SLOTS_MAX, f"cluster_parallel is {its.cluster_parallel}, not 0 to {SLOTS_MAX}")
    demand(-1 <= its.retries <= JOB_MAX, f"retries is {its.retries}, not -1 or more")
    demand(100 <= its.growth_percent <= 10_000, f"growth_percent is {its.growth_percent}, not 100 to 10,000")
    demand(1 <= its.crashes <= 200, f"crashes is {its.crashes}, not 1 to 200")
    demand(abs(its.ranking) <= MS_MAX, f"the ranking is {its.ranking}")
    _range("rate", its.rate, RATE_MAX)
    demand(1 <= its.rate_ms <= RATE_MS_MAX, f"rate_ms is {its.rate_ms}, not 1 to {RATE_MS_MAX}")
    for name in ("delay_ms", "delay_max_ms", "timeout_ms", "keep_ms", "keep_failed_ms", "quiet_ms"):
        _range(name, getattr(its, name), MS_MAX)
    _tags(its.tags)


def _added(event: JobsAddedMessage) -> None:
    many = len(event.payloads)
    demand(1 <= many <= BATCH_MAX, f"it adds {many} jobs, and the range is 1 to {BATCH_MAX}")
    demand(len(event.topic_of) == many, f"it has {many} payloads and {len(event.topic_of)} topics for them")
    for topic in event.topics:
        _topic(topic)
    demand(0 <= min(event.topic_of) <= max(event.topic_of) < len(event.topics), "a job has none of its topics")
    largest = max(map(len, event.payloads))
    demand(largest <= PAYLOAD_BYTES_MAX, f"a payload has {largest} bytes, and the most is {PAYLOAD_BYTES_MAX}")
    _places(event.options, many)
    _range("number of earlier requests", len(event.earlier), BATCH_MAX)
    for options in event.options:
        _options(options)
        demand(-2 - offset_of(min(options.after, default=0)) < len(event.earlier), "a job waits for an unknown request")
    _range("number of ranges to wait for", sum(len(options.after) for options in event.options), AFTER_MAX)
    if event.schedule:
        _name("schedule", event.schedule)
    _range("tick", event.tick_ms, TIME_MS_MAX)
    demand(event.void_from >= -1, f"void_from is {event.void_from}")
    demand(event.schedule_set >= -1, f"schedule_set is {event.schedule_set}")
    demand(len(event.context_of) == (many if event.contexts else 0), "a job has no context, or one too many")
    demand(all(0 <= each < len(event.contexts) for each in event.context_of), "a job has none of its contexts")
    for each in event.contexts:
        _range("number of names in a context", len(each.names), CONTEXT_NAMES_MAX)
        demand(len(each.names) == len(each.values), "a context has names without values")
        demand(max(map(len, each.names + each.values), default=0) <= CONTEXT_CHARS_MAX, "a context has too long a text")


def _options(options: JobOptions) -> None:
    its = options
    _range("due time", its.due_ms, TIME_MS_MAX)
    demand(abs(its.priority) <= PRIORITY_MAX, f"the priority is {its.priority}, and the most is {PRIORITY_MAX}")
    for name in ("lane", "unique"):
        if value := getattr(its, name):
            _name(name, value)
    _range("unique_ms", its.unique_ms, MS_MAX)
    demand(QUEUE_DECIDES <= its.retries <= JOB_MAX, f"retries is {its.retries}")
    _range("timeout", its.timeout_ms, MS_MAX)
    demand(len(its.after) == len(its.after_counts), "a job waits for ranges without an end")
    for first, many in zip(its.after, its.after_counts, strict=True):
        demand(abs(first) <= JOB_MAX and 1 <= many <= BATCH_MAX - place_of(first), f"{many} jobs from {first} on")


def _leased(event: JobsLeasedMessage) -> None:
    demand(len(event.jobs) == len(event.worker_of) <= BATCH_MAX, "the lease has jobs without a worker")
    _jobs(event.jobs)
    if event.jobs:
        demand(0 <= min(event.worker_of) <= max(event.worker_of) < len(event.workers), "a job has none of its workers")
    demand(bool(event.cluster_log and event.dispatcher) and event.epoch >= 0, "the lease names no dispatcher")


def _ended(event: JobsEndedMessage) -> None:
    many = len(event.jobs)
    same = many == len(event.leases) == len(event.outcomes) == len(event.run_ms) and 1 <= many <= BATCH_MAX
    columns = f"{len(event.leases)} leases, {len(event.outcomes)} outcomes and {len(event.run_ms)} times"
    demand(same, f"it ends {many} jobs with {columns}")
    _jobs(event.jobs)
    demand(0 <= min(event.outcomes) <= max(event.outcomes) < len(Outcome), f"an outcome is {max(event.outcomes)}")
    demand(0 <= min(event.run_ms) <= max(event.run_ms) <= MS_MAX, "a running time is out of range")
    _places(event.ends, many)
    for end in event.ends:
        _range("delay", end.retry_ms + 1, MS_MAX)
        demand(len(end.result) <= RESULT_BYTES_MAX, f"a result has {len(end.result)} bytes")


def _worker(event: WorkerMessage) -> None:
    demand(bool(event.instance and event.incarnation), "the worker has no name")
    demand(0 <= event.slots <= SLOTS_MAX, f"the worker has {event.slots} slots, and the most is {SLOTS_MAX}")
    _patterns(event.topics)
    _patterns(event.deny)
    _tags(event.tags)


def _command(event: JobCommandMessage) -> None:
    for jobs in (event.stop, event.drop, event.forget):
        demand(len(jobs) <= BATCH_MAX, f"the command is for {len(jobs)} jobs, and the most is {BATCH_MAX}")
        _jobs(jobs)
    for name in ("suspend", "resume", "remove"):
        if value := getattr(event, name):
            _name("queue", value)
    if event.configure is not None:
        check_queue(event.configure)


def _schedule(event: ScheduleMessage) -> None:
    its = event
    _name("schedule", its.name)
    _topic(its.topic)
    _range("size of the payload", len(its.payload), SCHEDULE_PAYLOAD_BYTES_MAX)
    if its.options is not None:
        _options(its.options)
        demand(its.options.job == its.options.due_ms == 0, "a schedule's jobs are due at its ticks")
        demand(not its.options.after, "a schedule's jobs wait for no others")
    demand(
        bool(its.cron) + bool(its.every_ms) + bool(its.at_ms) == 1,
        "a schedule has cron expressions, or a number of seconds, or one time",
    )
    _range("number of cron expressions", len(its.cron), CRONS_MAX)
    for text in (*its.cron, its.zone):
        demand(0 < len(text) <= CRON_CHARS_MAX, f"{text!r:.80} does not have 1 to {CRON_CHARS_MAX} characters")
    demand(its.every_ms == 0 or EVERY_MS_MIN <= its.every_ms <= MS_MAX, f"every_ms is {its.every_ms}")
    _range("time", its.at_ms, TIME_MS_MAX)
    _range("number of ticks to make up for", its.catch_up, CATCH_UP_MAX)


def _schedule_command(event: ScheduleCommandMessage) -> None:
    for name in ("suspend", "resume", "remove"):
        if value := getattr(event, name):
            _name("schedule", value)


def _progressed(event: JobsProgressedMessage) -> None:
    demand(len(event.progress) <= BATCH_MAX, f"it has the progress of {len(event.progress)} jobs")
    for its in event.progress:
        _jobs((its.job,))
        demand(0 <= its.step <= its.steps <= MS_MAX or its.steps == 0, f"step {its.step} of {its.steps}")
        _range("expected end", its.eta_ms, TIME_MS_MAX)
        demand(len(its.lines) <= LINES_MAX, f"{len(its.lines)} lines of a log, and the most is {LINES_MAX}")
        demand(all(len(line) <= LINE_CHARS_MAX for line in its.lines), f"a line is longer than {LINE_CHARS_MAX}")
        demand(len(its.saved) <= SAVED_BYTES_MAX, f"{len(its.saved)} bytes are saved, more than {SAVED_BYTES_MAX}")


def _snapshot(event: JobsSnapshotMessage) -> None:
    demand(bool(event.log_id and event.writer), "the snapshot does not say where it belongs")
    _range("offset of the snapshot", event.as_of, JOB_MAX)
    _range("part of the snapshot", event.part, JOB_MAX)
    demand(event.parts in (0, event.part + 1), f"it is part {event.part} of {event.parts}")


def demand(holds: bool, otherwise: str) -> None:
    """Raise ``Undecodable`` with this text unless it holds."""
    if not holds:
        raise Undecodable(otherwise)


def _range(what: str, value: int, most: int) -> None:
    demand(0 <= value <= most, f"the {what} is {value}, not 0 to {most}")


def _name(what: str, value: str) -> None:
    demand(bool(NAME.fullmatch(value)), f"{value!r:.80} is not the name of a {what}")


def _topic(topic: str) -> None:
    demand(len(topic) <= TOPIC_CHARS_MAX and bool(TOPIC.fullmatch(topic)), f"{topic!r:.80} is not a job's topic")


def _jobs(jobs: Sequence[int]) -> None:
    demand(not jobs or 0 <= min(jobs) <= max(jobs) <= JOB_MAX, "a job's id is out of range")


def _patterns(patterns: Sequence[str]) -> None:
    demand(len(patterns) <= PATTERNS_MAX, f"there are {len(patterns)} patterns, and the most is {PATTERNS_MAX}")
    for each in patterns:
        demand(len(each) <= TOPIC_CHARS_MAX and bool(PATTERN.fullmatch(each)), f"{each!r:.80} is no pattern of topics")


def _tags(tags: Sequence[str]) -> None:
    _range("number of tags", len(tags), TAGS_MAX)
    for tag in tags:
        _name("tag", tag)


def _places(given: Sequence[Any], many: int) -> None:
    """Demand that each of these is about another job of the batch, in their order."""
    places = [each.job for each in given]
    demand(places == sorted(set(places)), "two entries are about the same job")
    demand(not places or 0 <= places[0] <= places[-1] < many, "an entry is about no job")


_CHECKS: dict[type[Event], Callable[[Any], None]] = {
    JobsAddedMessage: _added,
    JobsLeasedMessage: _leased,
    JobsEndedMessage: _ended,
    WorkerMessage: _worker,
    JobCommandMessage: _command,
    JobsProgressedMessage: _progressed,
    ScheduleMessage: _schedule,
    ScheduleCommandMessage: _schedule_command,
    JobsSnapshotMessage: _snapshot,
}
