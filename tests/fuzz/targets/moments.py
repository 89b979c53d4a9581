"""A time as a user types it."""

from callboard.door.moments import moment_ns
from callboard.errors import RequestRefused

NOW_NS = 1_700_000_000 * 10**9


def seeds() -> list[bytes]:
    return [b"2h", b"1.5 d", b"30min", b"2026-01-31T12:00", b"2026-01-31T12:00:00+01:00", b"0001-01-01"]


def run(data: bytes) -> None:
    try:
        moment_ns(data.decode(errors="replace"), NOW_NS)
    except RequestRefused as error:
        assert "is not a time" in str(error)
