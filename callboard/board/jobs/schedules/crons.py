"""Cron expressions for the usual schedules."""

from callboard.door import schedules as door


def hourly(minute: int = 0) -> str:
    """Each hour at this minute. Raises ``RequestRefused``, as all of these, for what no clock shows."""
    door.times(minute=minute)
    return f"{minute} * * * *"


def daily(hour: int, minute: int = 0) -> str:
    """Each day at this time."""
    door.times(hour=hour, minute=minute)
    return f"{minute} {hour} * * *"


def weekly(weekday: int, hour: int, minute: int = 0) -> str:
    """Each week on this day, from 1 for Monday to 7 for Sunday, at this time."""
    door.times(weekday=weekday, hour=hour, minute=minute)
    return f"{minute} {hour} * * {weekday}"


def monthly(day: int, hour: int, minute: int = 0) -> str:
    """Each month on this day, up to the 28th, which each month has, at this time."""
    door.times(day=day, hour=hour, minute=minute)
    return f"{minute} {hour} {day} * *"


def yearly(month: int, day: int, hour: int, minute: int = 0) -> str:
    """Each year in this month, from 1 for January, on this day, up to the 28th, at this time."""
    door.times(month=month, day=day, hour=hour, minute=minute)
    return f"{minute} {hour} {day} {month} *"
