"""Checks schedules of jobs, and timers."""

from datetime import datetime, tzinfo
from typing import Any

from callboard.actors.jobs.schedules.ticks import cron_after, local_ms, zone_of
from callboard.door.boards import function
from callboard.door.jobs import SECONDS_MAX, named
from callboard.door.limits import OFFSET_MAX
from callboard.door.members import name as member_name
from callboard.door.rules import Rule, Unfit, checked, choice, flag, number, optional, several, whole
from callboard.errors import RequestRefused
from callboard.messages.jobs.limits import CATCH_UP_MAX, CRON_CHARS_MAX, CRONS_MAX, EVERY_MS_MIN
from callboard.messages.topology.limits import MEMBERS_MAX

FEW = {"skip": 0, "last": 1}


def expression(value: Any) -> str:
    """A text that may be a cron expression."""
    if not isinstance(value, str) or not 0 < len(value) <= CRON_CHARS_MAX or not value.isprintable():
        raise Unfit(value, "a cron expression: minute, hour, day, month and weekday, such as '30 3 * * MON'")
    return value


def expressions(value: Any) -> tuple[str, ...]:
    """One or several of them."""
    return (expression(value),) if isinstance(value, str) else several(expression, CRONS_MAX)(value)


def zone(value: Any) -> str:
    """The name of a time zone."""
    try:
        if isinstance(value, str) and 0 < len(value) <= CRON_CHARS_MAX:
            zone_of(value)
            return value
    except ValueError:
        pass
    raise Unfit(value, "the name of a time zone that this machine knows, such as 'Europe/Berlin'")


def time(value: Any) -> datetime:
    """A date with a time."""
    if not isinstance(value, datetime):
        raise Unfit(value, "a datetime")
    return value


def catch_up(value: Any) -> int:
    """How many missed ticks are made up for."""
    few = FEW.get(value) if isinstance(value, str) else None
    try:
        return whole(0, CATCH_UP_MAX)(value) if few is None else few
    except Unfit:
        raise Unfit(value, f"'skip', 'last', or a whole number from 0 to {CATCH_UP_MAX}") from None


def run_on(value: Any) -> str | tuple[str, ...]:
    """Where a timer runs."""
    if isinstance(value, str):
        return str(choice("all", "leader", "single")(value))
    return tuple(several(member_name, MEMBERS_MAX, least=1)(value))


SCHEDULE: dict[str, Rule] = {
    "name": named,
    "cron": expressions,
    "every_s": optional(number(EVERY_MS_MIN / 1000, SECONDS_MAX)),
    "at": optional(time),
    "zone": zone,
    "catch_up": catch_up,
    "suspended": flag,
}

TIMER: dict[str, Rule] = {
    "name": named,
    "function": function,
    "cron": expressions,
    "every_s": optional(number(0.001, SECONDS_MAX)),
    "at": optional(time),
    "now": flag,
    "times": optional(whole(1, OFFSET_MAX)),
    "zone": zone,
    "concurrent": flag,
    "run_on": run_on,
}

TIMES: dict[str, Rule] = {
    "minute": whole(0, 59),
    "hour": whole(0, 23),
    "weekday": whole(1, 7),
    "day": whole(1, 28),
    "month": whole(1, 12),
}


def schedule(now_ms: int, **given: Any) -> dict[str, Any]:
    """The fields of the message that sets a schedule. Raises ``RequestRefused``."""
    taken = checked(RequestRefused, SCHEDULE, given)
    every_s, at = taken.pop("every_s"), taken.pop("at")
    if bool(taken["cron"]) + (every_s is not None) + (at is not None) != 1:
        raise RequestRefused("a schedule has one of cron, every_s and at; give just one")
    its_zone = zone_of(taken["zone"])
    _check_crons(taken["cron"], its_zone, now_ms)
    return {**taken, "every_ms": int((every_s or 0) * 1000), "at_ms": _at_ms(at, its_zone, now_ms)}


def _check_crons(crons: tuple[str, ...], its_zone: tzinfo, now_ms: int) -> None:
    try:
        for each in crons:
            if cron_after(each, its_zone, now_ms) is None:
                raise RequestRefused(f"cron is {each!r}, but there is no such day in the next 50 years")
    except ValueError as error:
        raise RequestRefused(f"cron is wrong: {error}; give minute, hour, day, month and weekday") from error


def _at_ms(at: datetime | None, its_zone: tzinfo, now_ms: int) -> int:
    if at is None:
        return 0
    at_ms = local_ms(at, its_zone) if at.tzinfo is None else int(at.timestamp() * 1000)
    if at_ms <= now_ms:
        raise RequestRefused(f"at is {at.isoformat(' ')}, which is past; give a time to come")
    return at_ms


def timer(now_ms: int, **given: Any) -> dict[str, Any]:
    """The arguments of a timer, with times in milliseconds. Raises ``RequestRefused``."""
    taken = checked(RequestRefused, TIMER, given)
    every_s, at = taken.pop("every_s"), taken.pop("at")
    if taken["cron"] and (every_s is not None or at is not None):
        raise RequestRefused("a timer has either cron, or every_s and at")
    if taken["now"] and at is not None:
        raise RequestRefused("a timer begins either now or at a time; give one of now and at")
    its_zone = zone_of(taken["zone"])
    _check_crons(taken["cron"], its_zone, now_ms)
    return {**taken, "every_ms": int((every_s or 0) * 1000), "at_ms": _at_ms(at, its_zone, now_ms)}


def times(**given: Any) -> None:
    """Parts of a date and time. Raises ``RequestRefused``."""
    checked(RequestRefused, TIMES, given)
