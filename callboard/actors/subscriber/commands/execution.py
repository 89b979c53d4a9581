"""The orders to a subscriber: carried out one after the other as the log has them, each with a result."""

from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass, replace
from shlex import quote

from callboard.actors.core.decision import Effect, Moment, note
from callboard.actors.core.effects import SurveyRepository
from callboard.actors.subscriber.commands import recorded
from callboard.actors.subscriber.commands.authority import distrust, is_known
from callboard.actors.subscriber.commands.predecessors import not_in_force
from callboard.actors.subscriber.gates.pacing import PER_MIN_MAX, paused
from callboard.actors.subscriber.hooks import hooks_due
from callboard.actors.subscriber.importing.next_package import NextPackage
from callboard.actors.subscriber.importing.received import Received
from callboard.actors.subscriber.ledger import clearing, ledger_changes
from callboard.actors.subscriber.ledger.ledger_state import LedgerState
from callboard.actors.subscriber.quarantine import quarantine
from callboard.actors.subscriber.quarantine.retry_given_up import GivenUpRetry
from callboard.actors.subscriber.quarantine.retry_held import HeldRetry
from callboard.actors.subscriber.reporting.condition import Condition
from callboard.actors.subscriber.settings import SubscriberSettings
from callboard.content.survey import Survey
from callboard.errors import CallboardError
from callboard.messages.bounds import clipped
from callboard.messages.distribution.ledger import Ledger
from callboard.messages.distribution.mailbox import CommandPassedOver, CommandReceived
from callboard.messages.distribution.topic_messages import CommandMessage, Status
from callboard.messages.event import Event

HEAD = -1
"""The offset of a retry that means the package at the head of the queue, whichever it is."""

CLEARS_MAX = 100
"""Clears that may be under way: they are written with every import."""

COMMANDS = ("clear", "retry", "skip", "pause", "resume", "throttle", "verify")


@dataclass(frozen=True, slots=True)
class Obeyed:
    """The order has taken effect: the ledger is this one now. ``packages`` is -1 if their count is told later."""

    ledger: Ledger
    packages: int = 0
    reason: str = ""
    survey: Survey | None = None


@dataclass(frozen=True, slots=True)
class Refused:
    """The order has no effect, for this reason."""

    reason: str


class CommandExecution:
    """Those that were heard and are not carried out yet. The repository must be free when they are."""

    def __init__(
        self,
        settings: SubscriberSettings,
        state: LedgerState,
        head: NextPackage,
        condition: Condition,
        retrial: HeldRetry,
        recall: GivenUpRetry,
    ) -> None:
        self._settings = settings
        self._state = state
        self._next = head
        self._condition = condition
        self._held = retrial
        self._given_up = recall
        self._waiting: deque[CommandReceived | CommandPassedOver] = deque()
        self._end = -1  # of the package log, as it was found after the last order was heard
        self._looking = False
        self._surveyed: tuple[int, Survey | CallboardError] | None = None

    def begin(self) -> None:
        """Forget those that are not carried out: they are heard again."""
        self._waiting.clear()

    def hear(self, message: CommandReceived | CommandPassedOver) -> None:
        """An order, or a record that takes the place of one."""
        self._waiting.append(message)
        self._end, self._looking = -1, False

    # The end of the package log: an order about offsets that it does not have yet is refused.

    @property
    def curious(self) -> bool:
        """Whether the end must be looked up."""
        about_packages = any(_offset(message) is not None for message in self._waiting)
        return self._end < 0 and not self._looking and about_packages

    def look(self) -> None:
        """The end is being looked up."""
        self._looking = True

    def found(self, end: int) -> None:
        """The end is this. What was looked up before the last order was heard tells nothing about that one."""
        if self._looking:
            self._end, self._looking = end, False

    def not_found(self) -> None:
        """It must be looked up again."""
        self._looking = False

    @property
    def pending(self) -> bool:
        """Whether an order is to be carried out before the next import."""
        return bool(self._waiting)

    # Carrying them out.

    def carry_out(self, now: Moment) -> Iterator[Effect]:
        """Carry out as many as can be."""
        self._complete_clears(now)
        while self._waiting and len(self._state.ledger.results) < recorded.RESULTS_MAX:
            message = self._waiting[0]
            back = isinstance(message, CommandPassedOver) and message.set_back
            if back or not recorded.heard(self._state.ledger, message.log_id, message.offset):
                if isinstance(message, CommandPassedOver):
                    yield from self._pass_over(message)
                elif (answer := self._answer(message, now)) is None:
                    if message.command.verify is not None:
                        yield self._state.survey(SurveyRepository(message.offset, message.command.verify.paths))
                    return
                else:
                    yield from self._record(message, answer, now)
            self._waiting.popleft()
        self._complete_clears(now)

    def _complete_clears(self, now: Moment) -> None:
        """Before the next import, however long that takes: somebody waits for the count."""
        if self._state.ledger.clears:
            self._next.settle(now)
            done = recorded.cleared(self._state.ledger, now.wall_ns)
            if self._next.waits or self._condition.gate is not None:
                done = recorded.cleared_so_far(done, now.wall_ns)
            if done is not self._state.ledger:
                self._state.write(done, urgent=True)

    def _pass_over(self, message: CommandPassedOver) -> Iterator[Effect]:
        self._state.write(recorded.taken(self._state.ledger, message), urgent=True)
        if message.reason:
            yield note("command.passed_over", "error", offset=message.offset, reason=message.reason)

    def _record(self, message: CommandReceived, answer: Obeyed | Refused, now: Moment) -> Iterator[Effect]:
        command, accepted = message.command, isinstance(answer, Obeyed)
        packages = answer.packages if isinstance(answer, Obeyed) else 0
        ledger = (
            recorded.obeyed(answer.ledger, message)
            if isinstance(answer, Obeyed)
            else recorded.taken(self._state.ledger, message)
        )
        if packages >= 0 and not (message.distrust and is_known(ledger, command.command_id)):
            ledger = recorded.answered(
                ledger,
                command.command_id,
                message.offset,
                now.wall_ns,
                accepted=accepted,
                packages=packages,
                reason=answer.reason,
                listing=answer.survey.digest if isinstance(answer, Obeyed) and answer.survey else "",
            )
        if command.subscriber_instance == ledger.instance and command.verify is None:
            ledger = replace(ledger, void_commands=())  # whoever gave it knows of this repository
        self._state.write(ledger, urgent=True)
        yield note(
            "command.obeyed" if accepted else "command.refused",
            "info" if accepted else "warning",
            command=command.command_id,
            order=_names(command),
            offset=message.offset,
            author=command.author,
            reason=command.reason if accepted else answer.reason,
        )

    def _answer(self, message: CommandReceived, now: Moment) -> Obeyed | Refused | None:
        """What becomes of the order; None if that cannot be told yet."""
        command, ledger = message.command, self._state.ledger
        names = _names(command)
        if reason := distrust(message, self._settings, ledger):
            return Refused(reason)
        if names not in COMMANDS:
            return Refused(f"{names or 'nothing'!r} is no order that this version knows; upgrade the subscriber")
        if (offset := _offset(message)) is None:
            return self._about_none(message, now)
        if offset < 0:
            return Refused(f"there is no offset {offset}; the first is 0")
        if self._condition.gap:
            return Refused(f"the subscriber has lost its place: {self._condition.gap}")
        return self._about_package(message, offset, now)

    def surveyed(self, effect: SurveyRepository, found: Survey | CallboardError) -> None:
        """The repository was listed, or could not be."""
        self._surveyed = effect.command_offset, found

    def _verify(self, message: CommandReceived) -> Obeyed | Refused | None:
        if self._surveyed is None or self._surveyed[0] != message.offset:
            return None
        found, self._surveyed = self._surveyed[1], None
        if isinstance(found, CallboardError):
            return Refused(f"what the repository holds cannot be listed: {ledger_changes.text(found)}")
        return Obeyed(self._state.ledger, reason=f"listed {found.entries} entries", survey=found)

    def _about_package(self, message: CommandReceived, offset: int, now: Moment) -> Obeyed | Refused | None:
        if self._end < 0:
            return None
        if offset >= self._end:
            return Refused(f"offset {offset} is beyond the end of the package log, which is {self._end}")
        if message.command.clear:
            return self._clear(message, offset, now)
        if message.command.skip:
            return self._skip(message.command, offset, now)
        return self._retry(message.command, now)

    def _clear(self, message: CommandReceived, offset: int, now: Moment) -> Obeyed | Refused:
        ledger = self._state.ledger
        if not self._settings.editable:
            return Refused("this subscriber is not editable, and clearing would make it differ; set editable = true")
        held = quarantine.clearable(ledger, message.command.publisher, offset)
        after = max(ledger.offset, message.command.position)
        if offset <= after and not held:
            return Refused(f"nothing is left to clear up to offset {offset}: the position is {after}")
        if clearing.is_marked(ledger, message.command.publisher, after, offset) and not held:
            return Refused(f"everything up to offset {offset} is being cleared already")
        if len(ledger.clears) >= CLEARS_MAX:
            return Refused(f"{CLEARS_MAX} clears are under way, as many as may be; clear up to the last offset")
        self._next.wake()
        marked = clearing.marked(ledger, message, offset)
        mark = marked.clears[-1]
        ahead = offset > after
        ledger = clearing.counted(marked, mark, len(held)) if ahead else ledger
        ledger = quarantine.cleared(ledger, mark.publisher, offset, clearing.why(mark), now.wall_ns)
        return Obeyed(ledger, packages=-1 if ahead else len(held))

    def _skip(self, command: CommandMessage, offset: int, now: Moment) -> Obeyed | Refused | None:
        head = self._next.settle(now)
        held = quarantine.find(self._state.ledger, offset)
        who = f"by {command.author or 'an unknown author'}" + (f": {command.reason}" if command.reason else "")
        if offset <= self._state.ledger.offset and held is None:
            dismissed = ledger_changes.dismissed(
                self._state.ledger, offset, f"dismissed {who}", now.wall_ns
            ) or hooks_due.dismissed(self._state.ledger, offset, f"dismissed {who}", now.wall_ns)
            passed = f"offset {offset} is processed already, and nothing of it is left to skip"
            return Refused(passed) if dismissed is None else Obeyed(dismissed, packages=1)
        if not self._settings.editable:
            return Refused("this subscriber is not editable, and skipping would make it differ; set editable = true")
        reason = f"skipped {who}"
        if held is not None:
            self._held.wake()
            after = quarantine.ended(self._state.ledger, offset, Status.SKIPPED, reason, now.wall_ns)
            return Obeyed(after, packages=1)
        if head is None and self._next.reached <= offset:
            return None  # it is yet to be read
        if head is None or head.offset != offset:
            return Refused(_elsewhere(offset, head))
        self._next.leave(head, Status.SKIPPED, now, reason)
        return Obeyed(self._state.ledger, packages=1)

    def _retry(self, command: CommandMessage, now: Moment) -> Obeyed | Refused | None:
        assert command.retry is not None
        offset, without_golden = command.retry.offset, command.retry.without_golden
        if without_golden and not self._settings.golden:
            return Refused("this subscriber waits for no golden one")
        if self._condition.gap:
            self._condition.gap = ""
            return Obeyed(self._state.ledger, reason="looks for its place in the log again")
        head = self._next.settle(now)
        if head is not None and offset in (HEAD, head.offset):
            self._next.wake()
            ledger = ledger_changes.retried(self._state.ledger)
            return Obeyed(replace(ledger, without_golden=head.offset) if without_golden else ledger, packages=1)
        if 0 <= offset <= self._state.ledger.offset:
            return self._retry_passed(offset, now)
        return self._retry_elsewhere(offset, head)

    def _retry_passed(self, offset: int, now: Moment) -> Obeyed | Refused | None:
        """One that is held, or whose hook is due or failed, or that was given up. Nothing is imported twice."""
        ledger = self._state.ledger
        self._held.wake()
        if (held := quarantine.find(ledger, offset)) is not None:
            if held.waits_for >= 0:
                return Refused(f"offset {offset} waits for offset {held.waits_for}; retry or skip that one first")
            return Obeyed(quarantine.retried(ledger, offset), packages=1)
        if (changed := hooks_due.retried(ledger, offset)) is not None:
            return Obeyed(changed, packages=1, reason="its post-import hook is called again")
        if all(each.offset != offset for each in ledger.given_up):
            return Refused(
                f"offset {offset} was not given up: it is imported, or was passed over; to have it once more, "
                f"callboard log resend {offset} --to {quote(self._settings.name)}"
            )
        found = self._given_up.ask(offset, ledger)
        return None if found is None else self._recalled(found, offset, now)

    def _recalled(self, found: Received | str, offset: int, now: Moment) -> Obeyed | Refused:
        ledger = self._state.ledger
        if isinstance(found, str) or found.message is None:
            return Refused(f"offset {offset} cannot be tried again: {found}")
        if problem := quarantine.no_room(ledger, found.message):
            return Refused(problem)
        return Obeyed(quarantine.recalled(ledger, offset, found.message, now.wall_ns), packages=1)

    def _retry_elsewhere(self, offset: int, head: Received | None) -> Refused | None:
        if offset < 0:
            return Refused("nothing is at the head of the queue")
        return None if head is None and self._next.reached <= offset else Refused(_elsewhere(offset, head))

    def _about_none(self, message: CommandReceived, now: Moment) -> Obeyed | Refused | None:
        """About no package by its offset."""
        command, ledger = message.command, self._state.ledger
        if command.verify is not None:
            return self._verify(message)
        if command.retry is not None:
            return self._retry(command, now)
        self._next.wake()
        if command.throttle is not None:
            return self._throttle(command.throttle.packages_per_min)
        if command.resume is not None:
            resumed = Obeyed(replace(ledger, paused_by="", pause_reason=""))
            forgets = command.subscriber_instance == ledger.instance and not_in_force(ledger)
            return resumed if ledger.paused_by or forgets else Refused("it is not paused")
        assert command.pause is not None
        author = clipped(command.author, ledger_changes.AUTHOR_MAX) or "an unknown author"
        pausing = Obeyed(replace(ledger, paused_by=author, pause_reason=ledger_changes.text(command.reason)))
        return Refused(f"it is {paused(ledger)}") if ledger.paused_by else pausing

    def _throttle(self, limit: int) -> Obeyed | Refused:
        ledger = self._state.ledger
        if not 0 <= limit <= PER_MIN_MAX:
            return Refused(f"{limit} packages a minute is no limit; the range is 0 (none) to {PER_MIN_MAX}")
        if limit == ledger.throttle_per_min:
            return Refused(f"its limit is {limit} packages a minute already" if limit else "it has no limit to lift")
        return Obeyed(replace(ledger, throttle_per_min=limit))


def _names(command: CommandMessage) -> str:
    """The order that the command gives; several are none that is known."""
    return "+".join(name for name in COMMANDS if isinstance(getattr(command, name), Event))


def _offset(message: CommandReceived | CommandPassedOver) -> int | None:
    """The offset of the package that the command is about; None if it is about none, or whichever is at the head.

    Only a retry means the head by -1. What a stranger wrote on the log may be any number.
    """
    if isinstance(message, CommandPassedOver):
        return None
    command = message.command
    if command.retry is not None:
        return None if command.retry.offset == HEAD else command.retry.offset
    about = command.clear or command.skip
    return None if about is None else about.offset


def _elsewhere(offset: int, head: Received | None) -> str:
    if head is None or offset < head.offset:
        return f"no package for this subscriber is at offset {offset}"
    return f"offset {offset} is not at the head of the queue, which is offset {head.offset}; wait until it is"
