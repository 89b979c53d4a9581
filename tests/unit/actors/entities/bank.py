"""Accounts for tests: their balance is never below zero."""

from collections.abc import Sequence

from callboard.actors.entities.entity import Deleted, Entity, Facts
from callboard.errors import CommandRefused
from callboard.messages.declared.declaration import event
from callboard.messages.event import Event, replaced


@event("test_bank.move", version=1)
class Move(Event):
    """Add to the balance, or take from it."""

    cents: int


@event("test_bank.close", version=1)
class Close(Event):
    """Delete the account."""


@event("test_bank.moved", version=1)
class Moved(Event):
    """The balance changed."""

    cents: int


@event("test_bank.account", version=1)
class Account(Entity):
    """An account."""

    cents: int = 0

    def decide(self, command: Event, facts: Facts) -> Sequence[Event]:
        """See ``Entity``."""
        match command:
            case Move(cents=0):
                return ()
            case Move(cents=cents) if self.cents + cents >= 0:
                return (Moved(cents=cents),)
            case Move():
                raise CommandRefused(f"{facts.key} has only {self.cents}", code="overdrawn")
            case Close() if facts.exists:
                return (Deleted(),)
            case Close():
                raise CommandRefused(f"there is no {facts.key}", code="unknown")
        raise CommandRefused(f"an account does not know {type(command).__name__}")

    def evolve(self, event: Event) -> "Account":
        """See ``Entity``."""
        assert isinstance(event, Moved)
        return replaced(self, cents=self.cents + event.cents)
