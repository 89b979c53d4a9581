"""Retries a package that was given up, if it is still right to import it."""

from collections.abc import Iterator

from callboard.actors.core.decision import Done, Failed
from callboard.actors.core.effects import LogRead, ReadLog
from callboard.actors.subscriber.importing.received import Received, received
from callboard.actors.subscriber.quarantine import quarantine
from callboard.actors.subscriber.settings import SubscriberSettings
from callboard.errors import OffsetOutOfRange
from callboard.messages.distribution.ledger import Ledger
from callboard.messages.distribution.topic_messages import Kind

RECALL_MAX = 10_000
"""Offsets between the package and the position: all are read before the reply, and imports wait for it."""
READ_MAX = 500
"""Records in one read."""

PUBLISH = "publish its content again with --full"


class GivenUpRetry:
    """Reads the package and everything up to the position. If no package in between touches its paths, importing it now
    equals having imported it then; otherwise it would bring back outdated content.
    """

    OWNER = "given up"

    def __init__(self, settings: SubscriberSettings) -> None:
        self._settings = settings
        self._offset = -1
        self._next = 0
        self._until = -1
        self._found: Received | None = None
        self._answer: Received | str | None = None
        self._reading: ReadLog | None = None

    def ask(self, offset: int, ledger: Ledger) -> Received | str | None:
        """The package, or why it must not be retried; None if that is not known yet."""
        if self._offset != offset:
            self._offset, self._next, self._found = offset, offset, None
            far = ledger.offset - offset > RECALL_MAX
            self._answer = f"more than {RECALL_MAX} packages came after it; {PUBLISH}" if far else None
        if isinstance(self._answer, Received) and ledger.offset > self._until:
            self._answer = None  # imports came in between
        answer = self._answer
        if answer is not None:
            self._offset = -1
        return answer

    def wish(self) -> Iterator[ReadLog]:
        """Read on, once, if needed."""
        if self._offset >= 0 and self._answer is None and self._reading is None:
            self._reading = ReadLog(self._settings.topics.package, self._next, max_records=READ_MAX, owner=self.OWNER)
            yield self._reading

    def read(self, outcome: Done | Failed, ledger: Ledger) -> None:
        """The log has answered, or failed."""
        read, self._reading = self._reading, None
        if read is None or self._offset < 0 or read.start != self._next:
            return
        if isinstance(outcome, Done):
            self._answer = self._judge(outcome.result, ledger)
        elif isinstance(outcome.error, OffsetOutOfRange):
            self._answer = f"offset {self._offset} is no longer in the log; {PUBLISH}"
        else:
            self._answer = f"the log cannot be read: {outcome.error}"

    def _judge(self, read: LogRead, ledger: Ledger) -> Received | str | None:
        if read.log_id != ledger.log_id:
            return f"the package log was replaced; {PUBLISH}"
        for record in read.records:
            if record.offset > ledger.offset:
                break
            if reason := self._look(received(record, self._settings)):
                return reason
        self._next, self._until = read.next, ledger.offset
        return self._found if read.next > ledger.offset or not read.records else None

    def _look(self, it: Received) -> str:
        if self._found is None:
            self._found = it
            if it.offset != self._offset:
                return f"offset {self._offset} is no longer in the log; {PUBLISH}"
            return str(it.problem or ("" if it.message else "it is not for this subscriber"))
        mine, message = self._found.message, it.message
        if it.problem is not None:
            return f"the later offset {it.offset} cannot be read; {PUBLISH}"
        later = mine is not None and message is not None and message.kind is not Kind.INVALIDATE
        if later and mine is not None and message is not None and quarantine.touch(mine.paths, message.paths):
            return f"the later offset {it.offset} touched its paths; {PUBLISH}"
        return ""
