"""Every command to subscribers, message and topic in a list is handled wherever it must be."""

from dataclasses import MISSING, fields
from typing import Any

import pytest

from callboard.actors.subscriber.effects import SurveyRepository
from callboard.actors.topology.reducer import RULES
from callboard.board.board import Callboard
from callboard.board.command.wording import DONE
from callboard.board.read.log.log_records import in_a_line
from callboard.cli import app
from callboard.messages.distribution import topic_messages
from callboard.messages.distribution.on_topics import ON_TOPICS
from callboard.messages.distribution.topic_messages import COMMANDS, CommandMessage, PackageDistributedMessage
from callboard.messages.headers import new_record
from callboard.messages.topics import SORTS
from callboard.messages.topology import control_messages
from callboard.messages.topology.control_messages import CONTROL_MESSAGES
from callboard.messages.topology.member_event import MemberEvent
from callboard.testing.drivers.subscriber_example import ImporterDriver, command

AT = 7
"""The offset of every order that is about one."""


def order(name: str) -> dict[str, Any]:
    kind = COMMANDS[name]
    return {name: kind(**{field.name: AT for field in fields(kind) if field.default is MISSING})}


def test_every_kind_of_command_is_an_optional_field():
    assert list(COMMANDS) == ["clear", "retry", "skip", "pause", "resume", "throttle", "verify"]
    for name in COMMANDS:
        assert list(CommandMessage(subscriber_instance="", subscriber="edge", **order(name)).kinds) == [name]


@pytest.mark.parametrize("name", COMMANDS)
def test_a_subscriber_carries_out_or_refuses_every_kind_of_command(name: str):
    it = ImporterDriver(editable=True).arrive()
    it.order(command(4, **order(name)))
    it.save_all()
    it.sends_all()
    results = it.results()
    assert "c4" in results or it.asks(SurveyRepository)
    assert all("not a command that this version knows" not in result.reason for result in results.values())


@pytest.mark.parametrize("name", COMMANDS)
def test_a_board_and_the_command_line_can_send_every_kind_of_command(name: str):
    assert callable(getattr(Callboard, name))
    assert name in app.COMMANDS
    assert name in DONE or name == "verify"


@pytest.mark.parametrize("name", COMMANDS)
def test_every_kind_of_command_is_named_in_lists_of_records(name: str):
    message = CommandMessage(subscriber_instance="me", subscriber="edge", author="ann", **order(name))
    record = new_record(message, record_id="c", time_ns=1, producer="ann").at(1, 1)
    assert f"ann to edge: {name}" in in_a_line(record, message).about


def test_every_message_of_the_topics_is_registered():
    messages = {cls for name, cls in vars(topic_messages).items() if name.endswith("Message")}
    assert messages - {PackageDistributedMessage} == {each.cls for each in ON_TOPICS}
    assert {each.topic for each in ON_TOPICS} <= {"", *SORTS}


def test_every_message_of_the_control_topic_is_registered_and_has_a_rule():
    assert {cls for name, cls in vars(control_messages).items() if name.endswith("Message")} == set(CONTROL_MESSAGES)
    assert set(RULES) | {control_messages.SnapshotMessage} == set(CONTROL_MESSAGES)
    assert all(issubclass(cls, MemberEvent) for cls in CONTROL_MESSAGES)
