"""The contract of a gate: it lets a package pass to import, makes it wait, or leaves it out."""

from dataclasses import dataclass
from typing import Protocol

from callboard.actors.core.decision import Moment
from callboard.messages.distribution.ledger import Ledger
from callboard.messages.distribution.topic_messages import PackageMessage, State, Status


@dataclass(frozen=True, slots=True)
class Wait:
    """Not now, nor any package behind it: enter this state for this reason.

    ``again_s`` is when to ask again without an event, in seconds from now; below zero means that an event will
    trigger it.
    """

    state: State
    reason: str
    again_s: float = -1.0


@dataclass(frozen=True, slots=True)
class Leave:
    """Finished without being imported, with this status and for this reason."""

    status: Status
    reason: str = ""


class Gate(Protocol):
    """One condition. Gates are asked in order, and the first answer counts; while it is to wait, they are asked again
    with every input of the importer: so an event that opens a gate has only to reach the importer.
    """

    def judge(self, offset: int, message: PackageMessage, ledger: Ledger, now: Moment) -> Wait | Leave | None:
        """What to do with the package; None lets it pass. ``ledger`` is as after all packages before it."""
        ...
