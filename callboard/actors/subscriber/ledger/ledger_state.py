"""The importer's ledger: what is stored, what is not yet, and changes that wait to be stored."""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from typing import NamedTuple

from callboard.actors.core.decision import Effect
from callboard.actors.subscriber.effects import (
    ForwardCommand,
    ImportPackages,
    OpenRepository,
    Permit,
    SaveLedger,
    SurveyRepository,
)
from callboard.actors.subscriber.ledger import ledger_changes
from callboard.messages.distribution.ledger import Ledger
from callboard.messages.distribution.mailbox import StatusesPending

USES = (OpenRepository, SaveLedger, ImportPackages, SurveyRepository, ForwardCommand)
"""The effects that use the repository, or that nothing may overtake."""


class Write(NamedTuple):
    """Use this ledger from now on. An ``urgent`` one is stored before anything else happens."""

    ledger: Ledger
    urgent: bool = False


class Change(NamedTuple):
    """Change the ledger as soon as the repository is free."""

    change: Callable[[Ledger], Ledger]
    urgent: bool = False


Decided = Effect | Write | Change
"""What a part of the importer returns: effects, and changes of the ledger."""


class LedgerState:
    """The importer's access to its repository, which carries out one effect at a time.

    ``ledger`` is the one the importer uses and ``stored`` the one in the repository. They may differ only by changes
    that a crash may lose because they are found out again; a change that must not be lost is ``urgent``: nothing builds
    on it, and it is not reported, before it is stored.
    """

    def __init__(self) -> None:
        self.ledger = Ledger(instance="")
        self.stored: Ledger | None = None
        self.busy = False
        self.permit = Permit()
        self._safe: Ledger | None = None  # the newest that is stored for certain, by this importer or before it
        self.urgent = False
        """The ledger must be stored before anything else happens."""
        self._doubt: ImportPackages | None = None
        self._changes: list[Change] = []

    @property
    def dirty(self) -> bool:
        """Whether the repository lacks any of it."""
        return self.ledger is not self.stored

    @property
    def commands_up_to(self) -> int:
        """The last command whose answer is stored. Once it is announced, the command may be removed from the log."""
        ledger, stored = self.ledger, self.stored
        if not self.urgent:
            return ledger.command_offset
        same = stored is not None and stored.command_log_id == ledger.command_log_id
        return min(stored.command_offset, ledger.command_offset) if stored is not None and same else -1

    @property
    def named(self) -> bool:
        """Whether the instance's name is stored. If not, it would be another one after a crash, and the
        subscriber's own former claim would stand in its way.
        """
        return self.stored is not None and self.stored.instance == self.ledger.instance

    def follow(self, decided: Iterable[Decided]) -> Iterator[Effect]:
        """Apply changes of the ledger before the part that decided them continues, and pass effects on."""
        for each in decided:
            match each:
                case Write(ledger, urgent):
                    self.ledger, self.urgent = ledger, self.urgent or urgent
                case Change():
                    self._changes.append(each)
                case _:
                    self.busy |= isinstance(each, USES)
                    yield each

    def catch_up(self) -> Iterator[Write]:
        """Apply the changes that have waited."""
        changes, self._changes = self._changes, []
        for each in changes:
            yield Write(each.change(self.ledger), each.urgent)

    def save(self, *, durable: bool) -> SaveLedger:
        """Store the ledger as it is."""
        return SaveLedger(self.ledger, durable)

    def permitted(self, attempt: ImportPackages) -> ImportPackages:
        """The attempt, to be committed only while the name is ours."""
        return replace(attempt, permit=self.permit)

    def ended(self) -> None:
        """The effect that used the repository has ended, in success or failure."""
        self.busy = False

    # Outcomes for the ledger.

    def adopt(self, stored: Ledger | None, ledger: Ledger) -> None:
        """Begin with this ledger; the repository has ``stored``. If statuses or results wait, it is stored again:
        the attempt at which the former importer died was stored without waiting for the disk.
        """
        self.ledger, self.stored = ledger, stored
        self.urgent = self.dirty or bool(ledger.outbox or ledger.results)

    def holds(self, ledger: Ledger) -> None:
        """The repository now has this ledger, the newest."""
        self.ledger = self.stored = self._safe = ledger
        self.urgent = False
        self._doubt = None

    def doubt(self, attempt: ImportPackages) -> None:
        """The repository failed during this import; whether it was committed is unknown."""
        self._doubt = attempt

    def learn(self, stored: Ledger | None) -> bool:
        """What the repository has after an error. False if it is not what was left there."""
        former, doubt, self._doubt = self.stored, self._doubt, None
        if former is not None and not self._continues(former, stored):
            return False
        if stored is not None and doubt is not None and _planned(stored) == _planned(doubt.ledger):
            self.holds(stored)
        else:
            self.stored = stored
            self.urgent = True  # find out whether it can be written before anything builds on it
        return True

    def _continues(self, former: Ledger, stored: Ledger | None) -> bool:
        if stored is None or stored.instance != former.instance:
            return False
        return stored == self.ledger or stored.log_id != former.log_id or stored.offset >= former.offset

    def pending(self, above: int) -> StatusesPending:
        """The statuses and results that may be sent, with a sequence number above this one."""
        return ledger_changes.tellable(self.ledger, self._safe, above)


def _planned(ledger: Ledger) -> Ledger:
    """The ledger without what only the import itself could find out."""
    blank = (replace(due, written=(), removed=(), changed=0, changes_ref="") for due in ledger.hooks)
    return replace(ledger, hooks=tuple(blank), site_log_id="", site_next=-1, site_relayed=-1)
