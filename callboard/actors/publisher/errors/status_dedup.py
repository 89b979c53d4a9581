"""Tells repeated statuses from new ones by the number each sender gives them."""

from collections.abc import Mapping

from callboard.backends.log import AHEAD_NS

TELLERS_MAX = 20_000
"""Senders remembered, 200 bytes each: two hosts for each of a fleet's 10,000 members. The one heard of first
is forgotten first; its next status counts as new."""

LEAP_MAX = 1000
"""Numbers are consecutive. A status with a number further ahead is new, but does not move its sender's number."""

DIGITS_MAX = 19
"""Digits of a 63-bit number; a longer number is not ours."""


class StatusDedup:
    """The newest number of each sender, and when it was sent. Senders number their statuses in order, and repeat those
    that they do not know to be on the log. Apache Sling's senders send no numbers: all their
    statuses count as new.

    A sender whose repository was restored from a back-up continues at a lower number; by its own clock, those statuses
    were decided after all that it sent before. A status decided after it was appended, or with a number that leaps
    ahead, is not believed: such a record must not silence the sender for ever.
    """

    def __init__(self) -> None:
        self._newest: dict[str, tuple[int, int]] = {}

    def goes_on(self, headers: Mapping[str, str], appended_ns: int) -> bool:
        """Whether the record with these headers, appended at that time, is new by its number; remember it if so."""
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
        """Whether a record with an old number is new all the same, because it was decided at a later time. If so, its
        sender continues at its number.
        """
        time_ns = min(time_ns, appended_ns + AHEAD_NS)
        teller, _, digits = headers["id"].rpartition("/")
        if time_ns <= self._newest[teller][1]:
            return False
        self._newest[teller] = _number(digits), time_ns
        return True


def subscriber_of(headers: Mapping[str, str]) -> str:
    """The subscriber that a status is about, from its headers."""
    return headers.get("producer", "").rpartition("/")[0]


def _number(text: str) -> int:
    return int(text) if text.isdecimal() and len(text) <= DIGITS_MAX else 0
