"""Carries out the commands to a subscriber one by one, in the order of the log, each with a result."""

from collections.abc import Generator, Iterator
from dataclasses import dataclass, replace

from callboard.actors.core.decision import Moment, note
from callboard.actors.subscriber.commands import answers, recorded
from callboard.actors.subscriber.commands.acceptance import distrust, is_known
from callboard.actors.subscriber.commands.answers import HEAD
from callboard.actors.subscriber.commands.inbox import CommandInbox
from callboard.actors.subscriber.commands.recorded import Accepted, Refused
from callboard.actors.subscriber.effects import ForwardCommand, SurveyRepository
from callboard.actors.subscriber.importing.next_package import NextPackage
from callboard.actors.subscriber.ledger.ledger_state import Decided, LedgerState, Write
from callboard.actors.subscriber.quarantine import quarantine
from callboard.actors.subscriber.quarantine.retry_given_up import GivenUpRetry
from callboard.actors.subscriber.quarantine.retry_held import HeldRetry
from callboard.actors.subscriber.settings import SubscriberSettings
from callboard.actors.subscriber.startup.startup import Startup
from callboard.content.survey import Survey
from callboard.errors import CallboardError
from callboard.messages.distribution.mailbox import CommandPassedOver, CommandReceived
from callboard.messages.distribution.topic_messages import COMMANDS, CommandMessage

Answering = Generator[Decided, None, Accepted | Refused | None]
"""Returns the answer to the command; None if it is not known yet."""


@dataclass(slots=True, eq=False)
class CommandExecution:
    """Carries out the commands in the inbox. The repository must be idle meanwhile."""

    settings: SubscriberSettings
    state: LedgerState
    inbox: CommandInbox
    startup: Startup
    head: NextPackage
    held: HeldRetry
    given_up: GivenUpRetry
    rests: bool = False
    """Whether a command could not be forwarded, and is tried again later."""
    _surveyed: tuple[int, Survey | CallboardError] | None = None
    _forwarded: tuple[int, str] | None = None

    def carry_out(self, now: Moment) -> Iterator[Decided]:
        """Carry out as many commands as possible."""
        yield from self._complete_clears(now)
        waiting = self.inbox.waiting
        while waiting and not self.rests and len(self.state.ledger.results) < recorded.RESULTS_MAX:
            message = waiting[0]
            back = isinstance(message, CommandPassedOver) and message.set_back
            if back or not recorded.heard(self.state.ledger, message.log_id, message.offset):
                if isinstance(message, CommandPassedOver):
                    yield from self._pass_over(message)
                elif (answer := (yield from self._answer(message, now))) is None:
                    if message.command.subscriber != self.settings.name:
                        yield ForwardCommand(message.command, message.offset)
                    elif message.command.verify is not None:
                        yield SurveyRepository(message.offset, message.command.verify.paths)
                    return
                else:
                    yield from self._record(message, answer, now)
            waiting.popleft()
        yield from self._complete_clears(now)

    def surveyed(self, effect: SurveyRepository, found: Survey | CallboardError) -> None:
        """The repository was listed, or could not be."""
        self._surveyed = effect.command_offset, found

    def forwarded(self, effect: ForwardCommand, refusal: str) -> None:
        """The command is on the log of the relay's site, or cannot be carried out there."""
        self._forwarded = effect.offset, refusal

    def _complete_clears(self, now: Moment) -> Iterator[Decided]:
        """Answer clears before the next import, which may take long: their authors wait for the count."""
        if self.state.ledger.clears:
            yield from self.head.settle(now)
            done = recorded.cleared(self.state.ledger, now.wall_ns)
            if self.head.waits or self.head.gate is not None:
                done = recorded.cleared_so_far(done, now.wall_ns)
            if done is not self.state.ledger:
                yield Write(done, urgent=True)

    def _pass_over(self, message: CommandPassedOver) -> Iterator[Decided]:
        yield Write(recorded.taken(self.state.ledger, message), urgent=True)
        if message.reason:
            yield note("command.passed_over", "error", offset=message.offset, reason=message.reason)

    def _record(self, message: CommandReceived, answer: Accepted | Refused, now: Moment) -> Iterator[Decided]:
        command = message.command
        if accepted := isinstance(answer, Accepted):
            ledger = recorded.accepted(answer.ledger, message)
        else:
            ledger = recorded.taken(self.state.ledger, message)
        if answer.packages >= 0 and not (message.distrust and is_known(ledger, command.command_id)):
            ledger = recorded.answered(ledger, command.command_id, message.offset, answer, now.wall_ns)
        if command.subscriber_instance == ledger.instance and command.verify is None:
            ledger = replace(ledger, void_commands=())  # its author knows this repository
        skipped = ledger.offset > self.state.ledger.offset
        yield Write(ledger, urgent=True)
        if skipped:
            self.head.move_on()
        yield note(
            "command.accepted" if accepted else "command.refused",
            "info" if accepted else "warning",
            command_id=command.command_id,
            command=answers.name(command),
            offset=message.offset,
            author=command.author,
            reason=command.reason if accepted else answer.reason,
        )

    # How a command is answered.

    def _answer(self, message: CommandReceived, now: Moment) -> Answering:
        command, ledger = message.command, self.state.ledger
        names = answers.name(command)
        reason = distrust(message, self.settings, ledger)
        if not reason and names not in COMMANDS:
            reason = f"{names or 'nothing'!r} is not a command that this version knows; upgrade the subscriber"
        if reason:
            return Refused(reason)
        if command.subscriber != self.settings.name:
            return self._forward(message)
        if command.verify is not None:
            return self._verify(message)
        if (offset := answers.about(message)) is not None:
            return (yield from self._about_package(message, offset, now))
        if command.retry is not None:
            return (yield from self._retry(HEAD, command, now))
        self.head.wake()
        return answers.pace(ledger, command)

    def _about_package(self, message: CommandReceived, offset: int, now: Moment) -> Answering:
        if reason := answers.out_of_place(offset, self.inbox.end, self.startup.gap):
            return Refused(reason)
        if self.inbox.end < 0:
            return None
        if message.command.clear:
            answer = answers.clear(self.state.ledger, message, offset, self.settings, now.wall_ns)
            if isinstance(answer, Accepted):
                self.head.wake()
            return answer
        if message.command.skip:
            return (yield from self._skip(offset, message.command, now))
        return (yield from self._retry(offset, message.command, now))

    def _forward(self, message: CommandReceived) -> Accepted | Refused | None:
        """The answer to a command for a subscriber of the site; once it is there, the subscriber's own will follow."""
        if self._forwarded is None or self._forwarded[0] != message.offset:
            return None
        refusal, self._forwarded = self._forwarded[1], None
        return Refused(refusal) if refusal else Accepted(self.state.ledger, packages=-1)

    def _verify(self, message: CommandReceived) -> Accepted | Refused | None:
        if self._surveyed is None or self._surveyed[0] != message.offset:
            return None
        found, self._surveyed = self._surveyed[1], None
        return answers.verify(self.state.ledger, found)

    def _skip(self, offset: int, command: CommandMessage, now: Moment) -> Answering:
        head = yield from self.head.settle(now)
        ledger = self.state.ledger
        held = quarantine.find(ledger, offset) is not None
        if offset <= ledger.offset and not held:
            return answers.skip_passed(ledger, offset, command, now.wall_ns)
        if self.settings.editable and held:
            self.held.wake()
        elif self.settings.editable and head is None and self.head.reached <= offset:
            return None  # it is yet to be read
        return answers.skip(ledger, offset, command, head, self.settings, now.wall_ns)

    def _retry(self, offset: int, command: CommandMessage, now: Moment) -> Answering:
        without_golden = command.retry is not None and command.retry.without_golden
        if without_golden and not self.settings.golden:
            return Refused("this subscriber is not staged behind a golden subscriber; retry without --without-golden")
        if self.startup.gap:
            self.startup.look_again()
            return Accepted(self.state.ledger, reason="the subscriber looks for its position in the log again")
        head = yield from self.head.settle(now)
        ledger = self.state.ledger
        if head is not None and offset in (HEAD, head.offset):
            self.head.wake()
            return answers.retry_head(ledger, head.offset, without_golden=without_golden)
        if 0 <= offset <= ledger.offset:
            return self._retry_passed(offset, now)
        if offset >= 0 and head is None and self.head.reached <= offset:
            return None  # it is yet to be read
        return answers.elsewhere(offset, head)

    def _retry_passed(self, offset: int, now: Moment) -> Accepted | Refused | None:
        self.held.wake()
        if (answer := answers.retry_passed(self.state.ledger, offset, self.settings.name)) is not None:
            return answer
        if self.settings.site:
            return answers.out_of_order(offset, self.settings.name)
        found = self.given_up.ask(offset, self.state.ledger)
        return None if found is None else answers.recall(self.state.ledger, offset, found, now.wall_ns)
