"""How far each teller of statuses has come by its own numbering, so that what it repeats is known from what is new."""

from collections.abc import Mapping

from callboard.backends.log import AHEAD_NS

TELLERS_MAX = 20_000
"""StatusDedup that are remembered, 200 bytes each: two hosts for each of a fleet's 10,000 members. Whoever was heard of
first is forgotten first; the next that it tells is new then."""

LEAP_MAX = 1000
"""Numbers follow one another. One that is further from the last is new, but it is not where its teller goes on."""

DIGITS_MAX = 19
"""Of a number of 63 bits; a longer one is none of ours."""


class StatusDedup:
    """The newest number that each one has told, and when. They tell in the order of their numbers, and again what they
    do not know to be on the log. The original's tellers do not count: all that they tell is new.

    One whose repository was restored from a back-up goes on at a lower number; what it tells then was decided after
    everything that it has told before, by its own clock. Nothing was decided after it was appended, and nobody leaps: a
    record that says so does not silence the teller for ever.
    """

    def __init__(self) -> None:
        self._newest: dict[str, tuple[int, int]] = {}

    def goes_on(self, headers: Mapping[str, str], appended_ns: int) -> bool:
        """Whether the record with these headers, appended then, is new by its number alone. If so, it is remembered."""
        teller, _, digits = headers.get("id", "").rpartition("/")
        sequence = _number(digits)
        newest, newest_ns = self._newest.get(teller, (0, 0))
        if not sequence or sequence > newest + LEAP_MAX > LEAP_MAX:
            return True
        if sequence <= newest:
            return False
        told_ns = min(_number(headers.get("time_ns", "")), appended_ns + AHEAD_NS)
        self._newest[teller] = sequence, max(told_ns, newest_ns)
        if len(self._newest) > TELLERS_MAX:
            del self._newest[next(iter(self._newest))]
        return True

    def starts_over(self, headers: Mapping[str, str], time_ns: int, appended_ns: int) -> bool:
        """Whether a record that does not go on is new all the same, because what it says was decided at that time. If
        so, its number is where its teller goes on.
        """
        time_ns = min(time_ns, appended_ns + AHEAD_NS)
        teller, _, digits = headers["id"].rpartition("/")
        if time_ns <= self._newest[teller][1]:
            return False
        self._newest[teller] = _number(digits), time_ns
        return True


def subscriber_of(headers: Mapping[str, str]) -> str:
    """Whose status it is, by its headers."""
    return headers.get("producer", "").rpartition("/")[0]


def _number(text: str) -> int:
    return int(text) if text.isdecimal() and len(text) <= DIGITS_MAX else 0
