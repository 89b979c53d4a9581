"""Bank accounts, and transfers between them. Whatever is killed, no cent is lost, made, or moved twice."""

from collections.abc import Sequence
from enum import IntEnum

from callboard import CommandRefused
from callboard.actors import Answered, Ask, Entity, Event, Facts, Process, Projection, Recorded, event

# Accounts.


@event("bank.deposit", version=1)
class Deposit(Event):
    """Cash from outside."""

    cents: int


@event("bank.take", version=1)
class Take(Event):
    """Takes money out of an account, for a transfer."""

    cents: int


@event("bank.give", version=1)
class Give(Event):
    """Puts money into an account, from a transfer. With ``back``, it was taken from there."""

    cents: int
    back: bool = False


@event("bank.close", version=1)
class Close(Event):
    """Closes an account."""


@event("bank.moved", version=1)
class Moved(Event):
    """The balance has changed; by ``cash`` from outside, or by a transfer."""

    cents: int
    cash: bool = False


@event("bank.closed", version=1)
class Closed(Event):
    """The account takes no money any more."""


@event("bank.account", version=1)
class Account(Entity):
    """An account: its balance, and how much cash was ever paid in."""

    cents: int = 0
    paid_in: int = 0
    closed: bool = False

    def decide(self, command: Event, facts: Facts) -> Sequence[Event]:
        match command:
            case Deposit() | Give(back=False) if self.closed:
                raise CommandRefused(f"{facts.key} is closed", code="closed")
            case Deposit(cents=cents) | Give(cents=cents) | Take(cents=cents) if cents <= 0:
                raise CommandRefused("an amount is at least one cent", code="amount")
            case Deposit(cents=cents):
                return [Moved(cents=cents, cash=True)]
            case Give(cents=cents):
                return [Moved(cents=cents)]
            case Take(cents=cents) if cents <= self.cents:
                return [Moved(cents=-cents)]
            case Take():
                raise CommandRefused(f"{facts.key} has only {self.cents} cents", code="overdrawn")
            case Close():
                return [] if self.closed else [Closed()]
        raise CommandRefused(f"an account does not know {type(command).__name__}", code="unknown")

    def evolve(self, event: Event) -> "Account":
        match event:
            case Moved(cents=cents, cash=cash):
                paid_in = self.paid_in + cents * cash
                return Account(cents=self.cents + cents, paid_in=paid_in, closed=self.closed)
            case Closed():
                return Account(cents=self.cents, paid_in=self.paid_in, closed=True)
        raise TypeError(f"an account has no {type(event).__name__}")


# Transfers.


class Phase(IntEnum):
    """What a transfer does."""

    NEW = 0
    TAKING = 1
    GIVING = 2
    GIVING_BACK = 3
    DONE = 4
    FAILED = 5


@event("bank.transfer_order", version=1)
class TransferOrder(Event):
    """Move money from one account to another."""

    source: str
    target: str
    cents: int


@event("bank.transfer_ordered", version=1)
class TransferOrdered(Event):
    """The transfer has begun."""

    source: str
    target: str
    cents: int


@event("bank.transfer_moved_on", version=1)
class TransferMovedOn(Event):
    """The transfer has come to another phase."""

    phase: Phase
    why: str = ""


@event("bank.transfer", version=1)
class Transfer(Process):
    """A transfer: money is taken from one account, then given to the other, or back if that refuses it."""

    source: str = ""
    target: str = ""
    cents: int = 0
    phase: Phase = Phase.NEW
    why: str = ""

    def decide(self, command: Event, facts: Facts) -> Sequence[Event]:
        match command:
            case TransferOrder() if self.phase is not Phase.NEW:
                return []
            case TransferOrder(source=source, target=target) if source == target:
                raise CommandRefused(f"money of {source} cannot be transferred to {target} itself", code="same")
            case TransferOrder(source=source, target=target, cents=cents):
                return [TransferOrdered(source=source, target=target, cents=cents)]
            case Answered(task="take", code=""):
                return [TransferMovedOn(phase=Phase.GIVING)]
            case Answered(task="take"):
                return [TransferMovedOn(phase=Phase.FAILED, why=command.problem)]
            case Answered(task="give", code=""):
                return [TransferMovedOn(phase=Phase.DONE)]
            case Answered(task="give"):
                return [TransferMovedOn(phase=Phase.GIVING_BACK, why=command.problem)]
            case Answered(task="give back"):
                return [TransferMovedOn(phase=Phase.FAILED, why=self.why)]
        raise CommandRefused(f"a transfer does not know {type(command).__name__}", code="unknown")

    def evolve(self, event: Event) -> "Transfer":
        match event:
            case TransferOrdered(source=source, target=target, cents=cents):
                return Transfer(source=source, target=target, cents=cents, phase=Phase.TAKING)
            case TransferMovedOn(phase=phase, why=why):
                its = self.source, self.target, self.cents
                return Transfer(source=its[0], target=its[1], cents=its[2], phase=phase, why=why)
        raise TypeError(f"a transfer has no {type(event).__name__}")

    def todo(self, key: str) -> Sequence[Ask]:
        match self.phase:
            case Phase.TAKING:
                return [Ask("take", Account, self.source, Take(cents=self.cents))]
            case Phase.GIVING:
                return [Ask("give", Account, self.target, Give(cents=self.cents))]
            case Phase.GIVING_BACK:
                return [Ask("give back", Account, self.source, Give(cents=self.cents, back=True))]
        return []


# What people look at.


@event("bank.balance", version=1)
class Balance(Event):
    """A row: the balance of an account, and how often it has changed."""

    cents: int = 0
    changes: int = 0
    closed: bool = False


class Balances(Projection[Balance]):
    """The table ``bank_balance``."""

    sources = (Account,)

    def evolve(self, key: str, row: Balance | None, recorded: Recorded) -> Balance:
        row = row or Balance()
        match recorded.event:
            case Moved(cents=cents):
                return Balance(cents=row.cents + cents, changes=row.changes + 1, closed=row.closed)
            case Closed():
                return Balance(cents=row.cents, changes=row.changes, closed=True)
        return row
