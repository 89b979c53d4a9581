"""Refuses messages that were sent before."""

WINDOW_MS = 300_000
"""How far the clocks of two clusters may be apart, transport included."""

SENDERS_MAX = 10_000
"""Senders within the window; each takes a hundred bytes."""


class Replays:
    """The last counter of each sender. A sender counts up, from its clock in nanoseconds at least, so that it also does
    so after a restart.
    """

    def __init__(self) -> None:
        self._last: dict[str, tuple[int, int]] = {}

    def refused(self, sender: str, counter: int, sent_ms: int, now_ms: int) -> str:
        """Why the message is refused, or an empty text; then the next one needs a higher counter."""
        if abs(now_ms - sent_ms) > WINDOW_MS:
            return f"it was sent {abs(now_ms - sent_ms) // 1000} s away from the time here; set the clocks"
        if counter <= self._last.get(sender, (-1, 0))[0]:
            return "it was received before, or after a later one"
        if sender not in self._last and len(self._last) >= SENDERS_MAX:
            self._last = {who: last for who, last in self._last.items() if last[1] >= now_ms - 2 * WINDOW_MS}
            if len(self._last) >= SENDERS_MAX:
                return f"there are {SENDERS_MAX} other senders"
        self._last[sender] = counter, sent_ms
        return ""
