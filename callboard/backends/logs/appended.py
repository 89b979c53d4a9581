"""What a log knows of a topic's end without asking its database."""

from callboard.backends.logs.wake_up import WakeUp


class Appended(WakeUp):
    """Wakes those who wait for records, and knows whether the database must be asked first.

    Use it from one event loop.
    """

    def __init__(self) -> None:
        super().__init__()
        self._newest = 0
        self._end = (-1, 0)
        self.news = 0
        """How often records may have come."""

    def ring(self) -> None:
        """Wake all waiters: records may have come, or an older copy with lower offsets."""
        self._newest = 0
        self._wake()

    def hear(self, newest: int) -> None:
        """Wake all waiters if this is news: records up to this offset were committed."""
        if newest > self._newest:
            self._newest = newest
            self._wake()

    def read_nothing(self, start: int, news: int) -> None:
        """Remember that a read that began when there was this much ``news`` found no record from ``start`` on."""
        self._end = start, news

    def is_end(self, start: int) -> bool:
        """Whether a read found no record from there on, and nothing was heard since it began."""
        return self._end == (start, self.news)

    def has(self, start: int) -> bool:
        """Whether a record with an offset of at least ``start`` was heard of."""
        return self._newest >= start

    def _wake(self) -> None:
        self.news += 1
        super().ring()
