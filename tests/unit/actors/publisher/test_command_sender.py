from random import Random

from callboard.actors.core.decision import (
    After,
    Done,
    Effect,
    Failed,
    Input,
    Moment,
    Origin,
    Reply,
    Stopped,
    Stopping,
    Tick,
)
from callboard.actors.core.effects import Append, LogRead, TopicBounds
from callboard.actors.publisher.command_sender import CommandSender, CommandSenderSettings
from callboard.errors import LogUnavailable, RecordTooLarge
from callboard.messages.distribution.fleet_mail import CommandRequest, CommandSent
from callboard.messages.distribution.publisher_mail import CommandResultQuery
from callboard.messages.distribution.topic_messages import ClearCommand, CommandMessage, CommandResultMessage
from callboard.messages.headers import new_record, open_record
from callboard.messages.record import Record, pack_headers

NOW = Moment(1000, 0.0)
CLEAR = CommandMessage(
    subscriber_instance="i", subscriber="edge", clear=ClearCommand(offset=4), command_id="c1", author="ann"
)


def sender(**bounds: int) -> CommandSender:
    return CommandSender(CommandSenderSettings("command", "site/i1", "status", **bounds), Random(1))


def tell(it: CommandSender, message: Input, asker: int = 0) -> list[Effect]:
    effects = it.receive(message, Origin("gateway", asker) if asker else Origin(""), NOW)
    return [effect for effect in effects if isinstance(effect, Reply | After | Append | Stopped)]


def append_of(effects: list[Effect]) -> Append:
    (append,) = effects
    assert isinstance(append, Append)
    return append


def test_a_command_is_appended_with_its_id_and_answered_with_its_offset() -> None:
    it = sender()
    append = append_of(tell(it, CommandRequest(command=CLEAR), 1))
    (record,) = append.records
    assert (append.topic, record.key) == ("command", "c1")
    stored = Record(offset=9, time_ns=0, payload=record.payload, header_block=pack_headers(record.headers))
    assert open_record(stored, CommandMessage) == CLEAR
    assert tell(it, Done(append, (9,))) == [Reply(Origin("gateway", 1), CommandSent(command_id="c1", offset=9))]


def test_a_command_sent_again_while_in_progress_is_appended_once_and_answered_twice() -> None:
    it = sender()
    append = append_of(tell(it, CommandRequest(command=CLEAR), 1))
    assert tell(it, CommandRequest(command=CLEAR), 2) == []
    assert len(tell(it, Done(append, (9,)))) == 2


def test_an_unavailable_log_is_retried_and_then_given_up() -> None:
    it = sender(max_attempts=2)
    append = append_of(tell(it, CommandRequest(command=CLEAR), 1))
    (wait,) = tell(it, Failed(append, LogUnavailable("down")))
    assert isinstance(wait, After)
    append = append_of(tell(it, Tick(wait.key)))
    (reply,) = tell(it, Failed(append, LogUnavailable("down")))
    assert isinstance(reply, Reply)
    assert isinstance(reply.event, CommandSent)
    assert "with the same id" in reply.event.problem
    assert tell(it, Tick(wait.key)) == []


def test_a_command_that_the_log_refuses_fails_at_once() -> None:
    it = sender()
    append = append_of(tell(it, CommandRequest(command=CLEAR), 1))
    (reply,) = tell(it, Failed(append, RecordTooLarge("too large")))
    assert isinstance(reply, Reply)
    assert isinstance(reply.event, CommandSent)
    assert reply.event.offset == -1


def test_a_command_without_an_id_or_beyond_the_bound_is_refused() -> None:
    it = sender(max_in_progress=1)
    nameless = CommandMessage(subscriber_instance="i", subscriber="edge")
    (reply,) = tell(it, CommandRequest(command=nameless), 1)
    assert isinstance(reply, Reply)
    append_of(tell(it, CommandRequest(command=CLEAR), 2))
    other = CommandMessage(subscriber_instance="i", subscriber="edge", command_id="c2")
    (reply,) = tell(it, CommandRequest(command=other), 3)
    assert isinstance(reply, Reply)
    assert isinstance(reply.event, CommandSent)
    assert "later" in reply.event.problem


def test_on_stop_commands_in_progress_are_finished_and_new_ones_refused() -> None:
    it = sender()
    append = append_of(tell(it, CommandRequest(command=CLEAR), 1))
    assert tell(it, Stopping()) == []
    other = CommandMessage(subscriber_instance="i", subscriber="edge", command_id="c2")
    (reply,) = tell(it, CommandRequest(command=other), 2)
    assert isinstance(reply, Reply)
    assert tell(it, Done(append, (9,)))[-1] == Stopped()


def result(command_id: str, at: int) -> Record:
    message = CommandResultMessage(
        subscriber_instance="i", subscriber="edge", command_id=command_id, command_offset=1, accepted=True
    )
    return new_record(message, record_id=command_id, time_ns=1, producer="edge/i").at(at, 0)


def listening(it: CommandSender, *results: Record, asker: int = 7) -> list[Reply]:
    """Ask for the result of c1, and let the sender read these."""
    effects = list(it.receive(CommandResultQuery(command_id="c1"), Origin("gateway", asker), NOW))
    (find,) = effects
    (read,) = it.receive(Done(find, TopicBounds("L", 0, len(results))), Origin(""), NOW)
    told = it.receive(Done(read, LogRead("L", results, len(results))), Origin(""), NOW)
    return [effect for effect in told if isinstance(effect, Reply)]


def test_a_question_for_the_result_of_a_command_is_answered_when_the_subscriber_reports_it() -> None:
    it = sender()
    (reply,) = listening(it, result("c0", 0), result("c1", 1))
    assert reply.origin == Origin("gateway", 7)
    assert isinstance(reply.event, CommandResultMessage)
    assert reply.event.command_id == "c1"
    assert len(list(it.receive(CommandResultQuery(command_id="c1"), Origin("gateway", 8), NOW))) == 1


def test_the_remembered_results_are_bounded() -> None:
    it = sender(max_results=2)
    listening(it, *(result(f"c{number}", number) for number in range(5)))
    assert [
        isinstance(effect, Reply)
        for effect in it.receive(CommandResultQuery(command_id="c0"), Origin("gateway", 9), NOW)
    ] == []
