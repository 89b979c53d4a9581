"""What a service may declare: transfers between accounts, a table of balances, and a point for each change."""

from collections.abc import Iterable, Sequence

from callboard.actors import Answered, Ask, Event, Facts, Process, Projection, Reaction, Recorded, Task, event
from callboard.messages.event import replaced
from tests.unit.actors.entities.bank import Account, Move, Moved

POINTS = "points"
"""The account with a cent for each change of another one."""


@event("test_shop.transfer", version=1)
class Transfer(Event):
    """Take from an account, then add to another one."""

    source: str
    target: str
    cents: int


@event("test_shop.transferring", version=1)
class Stepped(Event):
    """A transfer goes on."""

    step: str


@event("test_shop.begun", version=1)
class Begun(Event):
    """A transfer begins."""

    transfer: Transfer


@event("test_shop.transfers", version=1)
class Transfers(Process):
    """A transfer."""

    source: str = ""
    target: str = ""
    cents: int = 0
    step: str = ""

    def decide(self, command: Event, facts: Facts) -> Sequence[Event]:
        """See ``Entity``."""
        match command:
            case Transfer() if not facts.exists:
                return (Begun(transfer=command),)
            case Answered(task="take", code=code):
                return (Stepped(step="refused" if code else "taken"),)
            case Answered(task="add", code=""):
                return (Stepped(step="done"),)
        return ()

    def evolve(self, event: Event) -> "Transfers":
        """See ``Entity``."""
        if isinstance(event, Begun):
            its = event.transfer
            return replaced(self, source=its.source, target=its.target, cents=its.cents, step="begun")
        assert isinstance(event, Stepped)
        return replaced(self, step=event.step)

    def todo(self, key: str) -> Sequence[Task]:
        """See ``Process``."""
        match self.step:
            case "begun":
                return (Ask("take", Account, self.source, Move(cents=-self.cents)),)
            case "taken":
                return (Ask("add", Account, self.target, Move(cents=self.cents)),)
        return ()


@event("test_shop.balance", version=1)
class Balance(Event):
    """A row of the table."""

    cents: int
    changes: int


class Balances(Projection[Balance]):
    """The balance of each account, and how often it changed."""

    sources = (Account,)

    def evolve(self, key: str, row: Balance | None, recorded: Recorded) -> Balance | None:
        """See ``Projection``."""
        assert isinstance(recorded.event, Moved)
        before = row or Balance(cents=0, changes=0)
        return Balance(cents=before.cents + recorded.event.cents, changes=before.changes + 1)


class Points(Reaction):
    """See the module."""

    name = "points"
    sources = (Account,)

    def react(self, recorded: Recorded) -> Iterable[Ask]:
        """See ``Reaction``."""
        return () if recorded.key == POINTS else (Ask("point", Account, POINTS, Move(cents=1)),)
