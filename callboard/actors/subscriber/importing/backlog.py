"""The records an importer holds: fetched ahead, bounded, in the order of the log."""

from collections import deque
from collections.abc import Iterator

from callboard.actors.core.decision import Send
from callboard.actors.subscriber import roles
from callboard.messages.distribution.mailbox import PackagesRead, PackagesWanted
from callboard.messages.record import Record


class Backlog:
    """Records read but not yet processed, and what to ask for next.

    At most two fetches are held: the one being processed and the next one.
    """

    def __init__(self, fetch_records: int, fetch_bytes: int) -> None:
        self._fetch_records = fetch_records
        self._fetch_bytes = fetch_bytes
        self._log_id = ""
        self._records: deque[Record] = deque()
        self._next = 0
        self._wished = False
        self.reading = False
        """Whether packages were asked for."""
        self.unreadable = ""
        """Why the log cannot be read."""

    def begin(self, log_id: str, start: int) -> None:
        """Forget everything and read from ``start``."""
        self._log_id, self._next, self._wished, self.reading = log_id, start, False, True
        self._records.clear()

    def wish(self) -> Iterator[Send]:
        """Ask the poller for more, once."""
        if not self._wished and len(self._records) < self._fetch_records:
            self._wished = True
            records, size = self._fetch_records, self._fetch_bytes
            wanted = PackagesWanted(log_id=self._log_id, start=self._next, max_records=records, max_bytes=size)
            yield Send(roles.PACKAGE_POLLER, wanted)

    def forget_wish(self) -> None:
        """The poller has lost the request: ask again."""
        self._wished = False

    def read(self, answer: PackagesRead) -> None:
        """Add the records, unless they answer an earlier request."""
        self.unreadable = ""
        if answer.log_id == self._log_id and answer.start == self._next:
            self._records.extend(answer.records)
            self._next = answer.next
            self._wished = False

    def expects(self, start: int) -> bool:
        """Whether the reading continues here."""
        return self.reading and start == self._next

    @property
    def head(self) -> Record | None:
        """The next record to process."""
        return self._records[0] if self._records else None

    def __iter__(self) -> Iterator[Record]:
        """The records, from the head on."""
        return iter(self._records)

    def drop(self, offset: int) -> None:
        """Everything up to and including ``offset`` is processed."""
        while self._records and self._records[0].offset <= offset:
            self._records.popleft()

    @property
    def reached(self) -> int:
        """Every record below this offset is processed."""
        return self._records[0].offset if self._records else self._next
