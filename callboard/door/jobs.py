"""Checks jobs, the settings of queues, and the arguments of everything about jobs."""

from collections.abc import Collection, Mapping
from typing import Any

from callboard.actors.jobs.queues import safe
from callboard.actors.jobs.rules.telling import KINDS
from callboard.door import limits
from callboard.door.boards import function
from callboard.door.rules import (
    Rule,
    Unfit,
    checked,
    choice,
    flag,
    is_storable,
    number,
    optional,
    pairs,
    plain,
    several,
    text,
    whole,
)
from callboard.errors import ConfigError, RequestRefused
from callboard.messages.jobs.job_messages import JobQueue, QueueOrder
from callboard.messages.jobs.job_state import ENDED, OPEN, JobState
from callboard.messages.jobs.limits import (
    CONTEXT_CHARS_MAX,
    CONTEXT_NAMES_MAX,
    JOB_MAX,
    MS_MAX,
    NAME,
    PATTERN,
    PATTERNS_MAX,
    PRIORITY_MAX,
    RATE_MAX,
    RATE_MS_MAX,
    SLOTS_MAX,
    TAGS_MAX,
    TOPIC,
    TOPIC_CHARS_MAX,
)

SECONDS_MAX = MS_MAX / 1000

TITLE_CHARS_MAX = 500
JOBS_MAX = 100_000
"""Jobs in one call: they are appended together."""


def topic(value: Any) -> str:
    """The topic of a job."""
    if not isinstance(value, str) or len(value) > TOPIC_CHARS_MAX or not TOPIC.fullmatch(value):
        raise Unfit(value, "words of a-z, A-Z, 0-9, '_' and '-', separated by '/', such as 'mail/send'")
    return plain(value)


def pattern(value: Any) -> str:
    """A pattern of topics."""
    if not isinstance(value, str) or len(value) > TOPIC_CHARS_MAX or not PATTERN.fullmatch(value):
        raise Unfit(
            value, "a topic, or a pattern of topics: 'a/*' for the children, 'a/**' for all below, '**' for all"
        )
    return plain(value)


def named(value: Any) -> str:
    """A key, a lane, or the name of a queue."""
    if not isinstance(value, str) or not NAME.fullmatch(value) or not is_storable(value):
        raise Unfit(value, "1 to 200 characters, none of them a control character")
    return plain(value)


def named_or_none(value: Any) -> str:
    """The same; an empty text for none."""
    return "" if isinstance(value, str) and not value else named(value)


def queue_name(value: Any) -> str:
    """The name of a queue to configure: as it is shown, but for what a pattern matched."""
    name = named(value)
    if (itself := name.replace("{0}", "")) != safe(itself):
        expected = "letters, digits, spaces and _,.+#!?$%&()=-, no digit first, and {0} for what a pattern matched"
        raise Unfit(value, expected)
    return name


def order(value: Any) -> QueueOrder:
    """The order of a queue."""
    if isinstance(value, QueueOrder):
        return value
    return QueueOrder[choice("unordered", "ordered", "topic_round_robin")(value).upper()]


def state(value: Any) -> JobState:
    """A state of jobs."""
    if isinstance(value, JobState):
        return value
    return JobState[choice(*(each.name.lower() for each in JobState))(value).upper()]


def states(value: Any) -> tuple[JobState, ...]:
    """One or several states, or words for some of them."""
    single = isinstance(value, str | JobState)
    found = [_states(value)] if single else several(_states, len(STATES), least=1)(value)
    return tuple(dict.fromkeys(each for some in found for each in some))


def _states(value: Any) -> tuple[JobState, ...]:
    if isinstance(value, JobState):
        return (value,)
    return STATES[choice(*STATES)(value)]


def others(value: Any) -> Any:
    """Jobs that a job waits for: ids, or jobs that were or are being added; kept as they are."""
    jobs = value if isinstance(value, Collection) and not isinstance(value, str | bytes) else [value, ""]
    for each in jobs:
        job = getattr(each, "id", 0 if hasattr(each, "after") else each)
        if not isinstance(job, int) or isinstance(job, bool) or not 0 <= job <= JOB_MAX:
            raise Unfit(value, "a list of ids, of jobs that were added, or of new ones of the same call")
    return value


STATES = {each.name.lower(): (each,) for each in JobState} | {"open": OPEN, "history": ENDED, "cancelled": ENDED[1:]}
"""The words for states."""


def functions(value: Any) -> Mapping[str, Any]:
    """The functions of a worker."""
    if not isinstance(value, Mapping):
        raise Unfit(value, "a JobRegistry, or a dict of functions by topic")
    return value


def context(value: Any) -> dict[str, str]:
    """What is bound in the logs of a job's function."""
    return dict(pairs(CONTEXT_NAME, text(CONTEXT_CHARS_MAX), CONTEXT_NAMES_MAX)(value))


SECONDS = number(0, SECONDS_MAX)
CONTEXT_NAME = text(CONTEXT_CHARS_MAX, least=1)

DELAY_MAX_S = JobQueue(name="").delay_max_ms / 1000
"""Unless a queue says otherwise."""

NEW_JOB: dict[str, Rule] = {
    "topic": topic,
    "payload": lambda value: value,
    "delay_s": SECONDS,
    "priority": whole(-PRIORITY_MAX, PRIORITY_MAX),
    "lane": named_or_none,
    "unique": named_or_none,
    "unique_s": SECONDS,
    "retries": optional(whole(-1, limits.OFFSET_MAX)),
    "timeout_s": SECONDS,
    "title": text(TITLE_CHARS_MAX, printable=True),
    "after": others,
    "after_failures": flag,
    "context": optional(context),
}

QUEUE: dict[str, Rule] = {
    "name": queue_name,
    "topics": several(pattern, PATTERNS_MAX, least=1),
    "order": order,
    "parallel": whole(0, SLOTS_MAX),
    "cluster_parallel": whole(0, SLOTS_MAX),
    "retries": whole(-1, limits.OFFSET_MAX),
    "delay_s": SECONDS,
    "delay_max_s": SECONDS,
    "growth": number(1, 100),
    "timeout_s": SECONDS,
    "ranking": whole(-limits.OFFSET_MAX, limits.OFFSET_MAX),
    "retry_exceptions": flag,
    "crashes": whole(1, 200),
    "rate": whole(0, RATE_MAX),
    "rate_s": number(0.001, RATE_MS_MAX / 1000),
    "keep_s": SECONDS,
    "keep_failed_s": SECONDS,
    "quiet_s": SECONDS,
    "prefer_creator": flag,
    "tags": several(named, TAGS_MAX),
}

ARGUMENTS: dict[str, Rule] = {
    "job": whole(0, JOB_MAX),
    "jobs": several(whole(0, JOB_MAX), limits.PAGE_MAX, least=1),
    "states": states,
    "topic": optional(pattern),
    "queue": named,
    "compat": flag,
    "schedule": named,
    "url": text(limits.PLACE_CHARS_MAX, least=1),
    "after": whole(-1, JOB_MAX),
    "limit": whole(1, limits.PAGE_MAX),
    "newest": flag,
    "order": optional(choice("added", "ended")),
    "lane": named_or_none,
    "creator": text(limits.ID_CHARS_MAX),
    "title": text(TITLE_CHARS_MAX),
    "where": lambda value: value,
    "timeout_s": number(0, limits.TIMEOUT_S_MAX),
    "reason": text(limits.TEXT_CHARS_MAX),
    "author": text(limits.ID_CHARS_MAX),
    "function": function,
    "cursor": optional(text(limits.TEXT_CHARS_MAX)),
    "kinds": several(choice(*KINDS), len(KINDS)),
    "follow": flag,
}

WORKER: dict[str, Rule] = {
    "functions": functions,
    "slots": whole(1, SLOTS_MAX),
    "drain_s": number(0, limits.HOUR_S),
    "deny": several(pattern, PATTERNS_MAX),
}


def new_job(**given: Any) -> dict[str, Any]:
    """The fields of a new job. Raises ``RequestRefused``."""
    return checked(RequestRefused, NEW_JOB, given)


def definition(**given: Any) -> dict[str, Any]:
    """The topic, or pattern, and the options of a job that a module defines. Raises ``ConfigError``."""
    return checked(ConfigError, {**NEW_JOB, "topic": pattern, "process": flag}, given)


def queue(**given: Any) -> dict[str, Any]:
    """The settings of a queue. Raises ``RequestRefused``."""
    its = checked(RequestRefused, QUEUE, given)
    if "rate_s" in its and not its.get("rate"):
        raise RequestRefused(f"a period of {its['rate_s']:g} s limits nothing without a rate; give the rate, too")
    if its.get("delay_s", 0) > (most := its.get("delay_max_s", DELAY_MAX_S)):
        raise RequestRefused(f"the delay of {its['delay_s']:g} s is above the most, {most:g} s; correct one of them")
    return its


def asked(**given: Any) -> dict[str, Any]:
    """Arguments of the methods about jobs. Raises ``RequestRefused``."""
    return checked(RequestRefused, ARGUMENTS, given)


def worker(**given: Any) -> dict[str, Any]:
    """The options of a worker. Raises ``ConfigError``."""
    return checked(ConfigError, WORKER, given)
