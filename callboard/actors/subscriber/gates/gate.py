"""What a package has to pass before it is imported: each gate lets it through, makes it wait, or has it left out."""

from dataclasses import dataclass
from typing import Protocol

from callboard.actors.core.decision import Moment
from callboard.messages.distribution.ledger import Ledger
from callboard.messages.distribution.topic_messages import PackageMessage, State, Status


@dataclass(frozen=True, slots=True)
class Wait:
    """Not now, and nothing behind it either: be in this state for this reason.

    ``again_s`` is when to look again without being told to, in seconds from now; below zero means that an event will
    say so.
    """

    state: State
    reason: str
    again_s: float = -1.0


@dataclass(frozen=True, slots=True)
class Leave:
    """Done without being imported, with this status and for this reason."""

    status: Status
    reason: str = ""


class Gate(Protocol):
    """One condition. Gates are asked in order, the first answer counts, and again with every input of the importer
    for as long as it is to wait: so an event that opens a gate has only to reach the importer.
    """

    def judge(self, offset: int, message: PackageMessage, ledger: Ledger, now: Moment) -> Wait | Leave | None:
        """What to do with the package; None lets it pass. ``ledger`` is as it will be when all before it are done."""
        ...
