"""Bugs in what a subscriber stores, and reports."""

from dataclasses import replace
from functools import partial
from typing import Any

from callboard.actors.core.decision import Done, Failed
from callboard.actors.core.effects import Append
from callboard.actors.subscriber.commands import answers
from callboard.actors.subscriber.hooks import hooks_due
from callboard.actors.subscriber.ledger import ledger_changes
from callboard.actors.subscriber.ledger.ledger_state import LedgerState
from callboard.actors.subscriber.reporting.status_sender import StatusSender
from callboard.errors import RepositoryUnavailable
from callboard.messages.distribution.ledger import Ledger
from callboard.messages.distribution.mailbox import StatusesPending
from callboard.testing.simulation.engine.disk import SimulatedRepository
from callboard.testing.simulation.engine.fates import before_deed
from callboard.testing.simulation.planted.patch import Patch


def _forgetful_adoption(right: Any, *arguments: Any, **forgotten: Any) -> Ledger:
    adopted: Ledger = right(*arguments)
    return replace(adopted, **forgotten)


_no_sequence = partial(_forgetful_adoption, next_sequence=1)
_no_pause = partial(_forgetful_adoption, paused_by="")


def _forgets_unsent(right: Any, ledger: Ledger, sequence: int) -> Ledger:
    return replace(right(ledger, sequence), outbox=())  # type: ignore[no-any-return]


def _sends_unstored(right: Any, ledger: Ledger, stored: Ledger | None, above: int) -> StatusesPending:
    del stored
    found: StatusesPending = right(ledger, ledger, above)
    return found


def _careless_saves(right: Any, self: LedgerState, *, durable: bool) -> Any:
    del durable
    return right(self, durable=False)


def _sure_sender(right: Any, self: StatusSender, message: Any, origin: Any, now: Any) -> Any:
    if isinstance(message, Failed) and isinstance(message.effect, Append):
        message = Done(message.effect, ())
    return right(self, message, origin, now)


def _silent_skips(right: Any, ledger: Ledger, outcome: Any, *others: Any) -> Any:
    return right(ledger, outcome._replace(status=None), *others)


async def _two_transactions(right: Any, self: SimulatedRepository, operations: Any, ledger: bytes) -> None:
    await self.save(ledger)
    await before_deed(RepositoryUnavailable)
    await right(self, operations, ledger)


async def _no_attempts(right: Any, self: SimulatedRepository, ledger: bytes, durable: bool = True) -> None:
    if durable:
        await right(self, ledger, durable)


def _hooks_once(right: Any, self: Any, outcome: Any, now: Any) -> Any:
    if isinstance(outcome, Failed):
        outcome = Done(outcome.effect, None)
    return right(self, outcome, now)


def _deaf_to_pauses(right: Any, ledger: Ledger, command: Any) -> Any:
    answer = right(ledger, command)
    return answer._replace(ledger=replace(answer.ledger, paused_by="")) if hasattr(answer, "ledger") else answer


BUGS = (
    Patch("statuses are forgotten when earlier ones were sent", ledger_changes, "statuses_sent", _forgets_unsent),
    Patch("statuses are sent before they are stored", ledger_changes, "tellable", _sends_unstored),
    Patch("nothing but content is stored durably", LedgerState, "save", _careless_saves),
    Patch("a restart counts statuses from one again", ledger_changes, "adopt", _no_sequence),
    Patch("a restart ends a pause", ledger_changes, "adopt", _no_pause),
    Patch("a pause is acknowledged only", answers, "pace", _deaf_to_pauses),
    Patch("a failed append counts as one", StatusSender, "receive", _sure_sender),
    Patch("a skip is not reported", answers, "recorded", _silent_skips),
    Patch("content and ledger are two transactions", SimulatedRepository, "apply", _two_transactions),
    Patch("attempts are not stored", SimulatedRepository, "save", _no_attempts),
    Patch("a hook that fails is not called again", hooks_due.HooksDue, "ended", _hooks_once),
)
