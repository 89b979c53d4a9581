"""How long a test lets time pass."""

from callboard.door.rules import checked, number
from callboard.errors import RequestRefused

UNITS_S = {"days": 86_400, "hours": 3600, "minutes": 60, "seconds": 1}


def in_seconds(most_days: float, **given: float) -> float:
    """The sum of ``days``, ``hours``, ``minutes`` and ``seconds``, of each ``most_days`` at most.

    Raises ``RequestRefused``.
    """
    rules = {unit: number(0, most_days * UNITS_S["days"] / its) for unit, its in UNITS_S.items()}
    return sum(float(UNITS_S[unit] * many) for unit, many in checked(RequestRefused, rules, given).items())
