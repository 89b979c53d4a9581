from random import Random
from typing import Any

import pytest

from callboard.actors.core.decision import PeerUp, Stopping
from callboard.actors.core.effects import FindBounds, LogRead, ReadLog, TopicBounds
from callboard.actors.subscriber import roles
from callboard.actors.subscriber.commands.command_handler import CommandHandler
from callboard.messages.distribution.mailbox import (
    CommandPassedOver,
    CommandReceived,
    CommandsBlocked,
    CommandsRead,
    CommandsWanted,
)
from callboard.messages.distribution.topic_messages import (
    ClearCommand,
    CommandMessage,
    PauseCommand,
    ResumeCommand,
    RetryCommand,
    SkipCommand,
    ThrottleCommand,
    VerifyCommand,
)
from callboard.messages.headers import new_record
from callboard.messages.record import Record, pack_headers
from callboard.messages.untrusted import untrusted
from callboard.testing.drivers.decision_driver import DecisionDriver
from callboard.testing.drivers.subscriber_example import COMMANDS, NAME, settings


def handler(offset: int = 4, log_id: str = COMMANDS) -> DecisionDriver:
    it = DecisionDriver(CommandHandler(settings(), Random(1)))
    it.feed(CommandsWanted(subscriber_instance="me", log_id=log_id, offset=offset))
    it.done(FindBounds, TopicBounds(COMMANDS, 1, 20))
    return it


def command(offset: int, subscriber: str = NAME, instance: str = "me", time_ns: int = 1, **order: Any) -> Record:
    message = CommandMessage(subscriber_instance=instance, subscriber=subscriber, command_id=str(offset), **order)
    return new_record(message, record_id="x", time_ns=1, producer="test").at(offset, time_ns)


def found(it: DecisionDriver, *records: Record) -> None:
    it.done(ReadLog, LogRead(COMMANDS, records, records[-1].offset + 1))


def heard(it: DecisionDriver) -> list[int]:
    return [event.offset for event in it.sent(CommandReceived)]


@pytest.mark.proves("W11", "W39")
def test_it_starts_reading_after_the_last_command_that_took_effect() -> None:
    assert handler(offset=4).asked(ReadLog).start == 5


def test_on_another_command_log_it_reads_from_the_first() -> None:
    assert handler(offset=4, log_id="former").asked(ReadLog).start == 1


def test_it_passes_on_the_commands_for_this_subscriber() -> None:
    it = handler()
    mine = (command(6), command(9, instance="me"))
    found(it, command(5, "edge-2"), mine[0], command(7, instance="another"), mine[1])
    assert heard(it) == [6, 9]
    assert it.sent(CommandReceived)[0].log_id == COMMANDS
    assert it.asked(ReadLog).start == 10


# Commands to others.

PAUSE, RESUME = {"pause": PauseCommand()}, {"resume": ResumeCommand()}
CLEAR, SKIP = {"clear": ClearCommand(offset=4)}, {"skip": SkipCommand(offset=4)}
LIMIT, NO_LIMIT = {"throttle": ThrottleCommand(packages_per_min=3)}, {"throttle": ThrottleCommand()}


def newcomer() -> DecisionDriver:
    return handler(offset=-1, log_id="")


def void(it: DecisionDriver) -> list[tuple[str, str]]:
    (read,) = it.sent(CommandsRead)
    return [(name(each), each.subscriber_instance) for each in read.void]


def name(command: CommandMessage) -> str:
    return next(order for order in ("clear", "skip", "pause", "resume", "throttle") if getattr(command, order))


@pytest.mark.proves("W11")
def test_a_new_instance_does_not_carry_out_commands_to_its_predecessor() -> None:
    it = newcomer()
    given = [CLEAR, SKIP, PAUSE, LIMIT, {"verify": VerifyCommand()}]
    found(it, *(command(at, instance="former", **order) for at, order in enumerate(given, start=5)), command(19, "x"))
    assert heard(it) == []
    assert void(it) == [("clear", "former"), ("pause", "former"), ("throttle", "former")]


def test_later_commands_to_the_former_instance_are_passed_on_to_be_refused() -> None:
    it = newcomer()
    found(it, command(19, instance="former", **CLEAR))
    found(it, command(20, instance="former", **CLEAR), command(21, "edge-2", instance="former"))
    assert heard(it) == [20]


def test_a_new_instance_remembers_which_commands_were_given_before_it() -> None:
    it = newcomer()
    found(it, command(6, instance="former", time_ns=7), command(19, "edge-2", time_ns=9))
    (passed,) = it.sent(CommandPassedOver)
    assert (passed.log_id, passed.offset, passed.time_ns, passed.reason) == (COMMANDS, 19, 9, "")
    empty = newcomer()
    empty.done(ReadLog, LogRead(COMMANDS, (), 20))
    assert [(each.offset, each.time_ns) for each in empty.sent(CommandPassedOver)] == [(19, 0)]
    known = handler(offset=4)
    found(known, command(19))
    assert known.sent(CommandPassedOver) == []


@pytest.mark.parametrize(
    ("commands", "passed_on", "others"),
    [
        ([("", PAUSE), ("", LIMIT)], [5, 6], []),
        ([("", CLEAR), ("", SKIP), ("", {"retry": RetryCommand()})], [], ["clear"]),
        ([("", PAUSE), ("", RESUME), ("", LIMIT), ("", NO_LIMIT)], [], []),
        ([("", PAUSE), ("former", LIMIT)], [], ["pause", "throttle"]),
        ([("", PAUSE), ("former", RESUME)], [], []),
        ([("former", PAUSE), ("", LIMIT)], [6], ["pause"]),
    ],
    ids=["first", "no clear", "taken back", "another instance", "and resumed", "after a former one"],
)
def test_a_new_instance_carries_out_a_pause_and_a_limit_given_before_any_instance(
    commands: list[tuple[str, dict[str, Any]]], passed_on: list[int], others: list[str]
) -> None:
    it = newcomer()
    found(it, *(command(at, instance=to, **body) for at, (to, body) in enumerate(commands, start=5)), command(19, "x"))
    assert heard(it) == passed_on
    assert [kind for kind, _ in void(it)] == others


def test_after_its_first_command_a_subscriber_takes_commands_to_any_instance_but_not_to_another() -> None:
    it = handler()
    found(it, command(5, instance="other", **PAUSE), command(6, instance="", **RESUME), command(19, "x"))
    assert heard(it) == [6]
    assert void(it) == [("pause", "other")]


def test_after_a_command_to_this_instance_earlier_ones_to_others_are_not_reported() -> None:
    it = handler()
    found(it, command(5, instance="other", **PAUSE), command(6, **LIMIT), command(19, "x"))
    assert void(it) == []


def test_it_says_once_that_all_earlier_commands_are_passed_on() -> None:
    it = handler()
    found(it, command(6))
    assert it.sent(CommandsRead) == []
    found(it, command(19))
    found(it, command(20))
    assert len(it.sent(CommandsRead)) == 1
    empty = handler(offset=19)
    empty.done(ReadLog, LogRead(COMMANDS, (), 20))
    assert len(empty.sent(CommandsRead)) == 1


def test_commands_behind_one_of_a_newer_version_are_not_carried_out() -> None:
    it = handler()
    damaged = Record(offset=7, time_ns=0, payload=b"\xff", header_block=pack_headers(command(7).headers))
    found(it, command(6), damaged, command(8))
    assert heard(it) == [6]
    (blocked,) = it.sent(CommandsBlocked)
    assert blocked.offset == 7
    assert not it.open


def test_a_new_importer_gets_no_commands_before_it_says_from_which_offset() -> None:
    it = handler()
    it.feed(PeerUp(roles.IMPORTER))
    found(it, command(6))
    assert heard(it) == []
    it.feed(CommandsWanted(subscriber_instance="me", log_id=COMMANDS, offset=4))
    it.done(FindBounds, TopicBounds(COMMANDS, 1, 20))
    found(it, command(6))
    assert heard(it) == [6]


def test_an_older_copy_of_the_topic_is_reported_so_that_its_new_commands_count() -> None:
    it = DecisionDriver(CommandHandler(settings(), Random(1)))
    it.feed(CommandsWanted(subscriber_instance="me", log_id=COMMANDS, offset=40))
    it.done(FindBounds, TopicBounds(COMMANDS, 1, 20))
    (back,) = it.sent(CommandPassedOver)
    assert (back.offset, back.set_back) == (19, True)
    assert "an older copy of the command topic is in place" in back.reason


def at_time(offset: int, time_ns: int, end: int = 20) -> DecisionDriver:
    it = DecisionDriver(CommandHandler(settings(), Random(1)))
    it.feed(CommandsWanted(subscriber_instance="me", log_id=COMMANDS, offset=offset, time_ns=time_ns))
    it.done(FindBounds, TopicBounds(COMMANDS, 1, end))
    return it


def test_the_last_command_is_looked_up_at_its_offset_and_not_passed_on_again() -> None:
    it = at_time(4, time_ns=100)
    found(it, command(4, time_ns=100), command(5, time_ns=101))
    assert heard(it) == [5]
    assert it.sent(CommandPassedOver) == []
    trimmed = DecisionDriver(CommandHandler(settings(), Random(1)))
    trimmed.feed(CommandsWanted(subscriber_instance="me", log_id=COMMANDS, offset=4, time_ns=100))
    trimmed.done(FindBounds, TopicBounds(COMMANDS, 5, 20))
    assert trimmed.asked(ReadLog).start == 5
    assert trimmed.notes() == []


@pytest.mark.proves("W11")
@pytest.mark.parametrize("end", [8, 20], ids=["shorter", "grown past the last command"])
def test_from_an_older_copy_of_the_topic_only_new_commands_are_passed_on(end: int) -> None:
    it = at_time(9, time_ns=100, end=end)
    if end > 9:
        found(it, command(9, time_ns=300))
        it.done(FindBounds, TopicBounds(COMMANDS, 1, end))
    found(it, command(3, time_ns=50), command(4, "edge-2", time_ns=90), command(6, time_ns=200))
    found(it, command(7, time_ns=201))
    (back,) = it.sent(CommandPassedOver)
    assert (back.offset, back.time_ns, back.set_back) == (4, 90, True)
    assert "lacks the command heard at offset 9" in back.reason
    assert heard(it) == [6, 7]


def test_an_older_copy_without_new_commands_is_reported_before_the_end_is_reached() -> None:
    it = at_time(9, time_ns=100, end=6)
    found(it, command(5, time_ns=50))
    order = [type(event) for event in it.sent(CommandPassedOver | CommandsRead)]
    assert order == [CommandPassedOver, CommandsRead]
    found(it, command(6, time_ns=200))
    assert heard(it) == [6]


def test_commands_trimmed_before_they_were_read_are_reported() -> None:
    it = DecisionDriver(CommandHandler(settings(), Random(1)))
    it.feed(CommandsWanted(subscriber_instance="me", log_id=COMMANDS, offset=4))
    it.done(FindBounds, TopicBounds(COMMANDS, 10, 20))
    assert it.notes() == ["commands.trimmed"]
    found(it, command(10))
    assert heard(it) == [10]


def test_it_stops_at_once() -> None:
    it = handler()
    it.feed(Stopping())
    assert it.stopped


HEADERS = (("type", "CommandMessage"), ("version", "1.0"))
DAMAGED = Record(offset=7, time_ns=0, payload=b"\xff", header_block=pack_headers(HEADERS))


@pytest.mark.proves("W30")
def test_an_unreadable_command_is_skipped_if_configured() -> None:
    it = DecisionDriver(CommandHandler(settings(skip_commands=(7,)), Random(1)))
    it.feed(CommandsWanted(subscriber_instance="me", log_id=COMMANDS, offset=4))
    it.done(FindBounds, TopicBounds(COMMANDS, 1, 20))
    found(it, command(6), DAMAGED, command(8))
    assert heard(it) == [6, 8]
    (passed,) = it.sent(CommandPassedOver)
    assert (passed.log_id, passed.offset) == (COMMANDS, 7)
    assert it.sent(CommandsBlocked) == []


@pytest.mark.proves("W30")
def test_untrusted_commands_block_nothing_and_are_refused_if_they_are_readable() -> None:
    it = handler()
    forged = untrusted(command(6), "it is not signed")
    found(it, forged, untrusted(DAMAGED, "it is not signed"), command(8))
    assert heard(it) == [6, 8]
    refused = it.sent(CommandReceived)[0]
    assert refused.distrust == "it is not signed"
    assert refused.command == CommandMessage(subscriber_instance="", subscriber="edge-1", command_id="6")
    assert it.sent(CommandsBlocked) == []


def test_the_author_of_a_signature_of_an_older_version_is_asked_to_upgrade() -> None:
    it = handler()
    found(it, untrusted(command(6, key_id="ops", signature=b"x"), "it is not signed"))
    assert "upgrade callboard at its sender" in it.sent(CommandReceived)[0].distrust


def test_an_answer_never_repeats_a_huge_id() -> None:
    it = handler()
    long = CommandMessage(subscriber_instance="me", subscriber=NAME, command_id="x" * 10_000)
    record = new_record(long, record_id="x", time_ns=1, producer="test").at(6, 1)
    found(it, untrusted(record, "it is not signed"), command(8))
    assert heard(it) == [8]


def test_the_reason_of_a_block_says_what_to_do() -> None:
    it = handler()
    found(it, DAMAGED)
    assert "--skip-command 7" in it.sent(CommandsBlocked)[0].reason


def test_an_unreadable_command_to_another_subscriber_is_ignored() -> None:
    it = handler()
    headers = (("type", "CommandMessage"), ("version", "9.0"), ("recipients", "edge-2"))
    foreign = Record(offset=7, time_ns=0, payload=b"\xff", header_block=pack_headers(headers))
    found(it, foreign, command(8))
    assert heard(it) == [8]
