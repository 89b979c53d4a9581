"""Which statuses were mailed to the status sender, and which are on the log."""

from collections.abc import Iterator

from callboard.actors.core.decision import Send
from callboard.actors.subscriber import roles
from callboard.actors.subscriber.ledger import ledger_changes
from callboard.actors.subscriber.ledger.ledger_state import Change, LedgerState


class StatusMail:
    """Mails stored statuses, as soon as all those mailed before are on the log."""

    def __init__(self) -> None:
        self._mailed = self._confirmed = 0  # the newest that was mailed, and that is on the log

    def send(self, state: LedgerState) -> Iterator[Send]:
        """Mail new statuses, if it is time."""
        if self._mailed <= self._confirmed:
            pending = state.pending(above=self._confirmed)
            statuses, results = pending.statuses[-1:], pending.results[-1:]
            if statuses or results:
                self._mailed = max([line.sequence for line in statuses] + [line.sequence for line in results])
                yield Send(roles.STATUS_SENDER, pending)

    def sent(self, sequence: int) -> Iterator[Change]:
        """All up to this sequence number are on the log."""
        self._confirmed = max(self._confirmed, sequence)
        yield Change(lambda ledger: ledger_changes.statuses_sent(ledger, sequence))

    def forget(self) -> None:
        """The status sender has lost them: mail them again."""
        self._mailed = self._confirmed
