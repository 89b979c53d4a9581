"""Parses moments as people write them: how long ago, or a date and time."""

import re
from datetime import datetime, tzinfo

from callboard.errors import RequestRefused

_AGE = re.compile(r"(\d+(?:\.\d+)?) ?(s|min|h|d)")
_SECONDS = {"s": 1, "min": 60, "h": 3600, "d": 86_400}


def moment_ns(text: str, now_ns: int, zone: tzinfo | None = None) -> int:
    """Parse ``2h`` (ago) or ``2026-01-31T12:00`` to nanoseconds since the epoch. A time that names no zone is one of
    ``zone``, by default this host's.

    Raises ``RequestRefused`` for anything else.
    """
    try:
        if match := _AGE.fullmatch(text):
            return now_ns - int(float(match[1]) * _SECONDS[match[2]] * 1e9)
        moment = datetime.fromisoformat(text)
        return int((moment if moment.tzinfo else moment.replace(tzinfo=zone)).timestamp() * 1e9)
    except (ValueError, OverflowError):
        raise RequestRefused(f"{text!r} is not a time; write an age as 30min, 2h or 3d, or 2026-01-31T12:00") from None
