"""Which repository a command is for, and from which position on."""

from typing import Any

import pytest

from callboard.actors.subscriber.effects import ImportPackages
from callboard.messages.distribution.mailbox import CommandsRead
from callboard.messages.distribution.topic_messages import ClearCommand, State, Status, VerifyCommand
from callboard.testing.drivers.subscriber_example import ImporterDriver, clear, command
from tests.unit.actors.subscriber.commands.test_execution import (
    PAUSE,
    RESUME,
    execute,
    retry,
    skip,
    statuses,
    stuck,
    throttle,
    told,
)

NOT_FOR_IT = [{"clear": ClearCommand(offset=12)}, skip(10), retry(10), PAUSE, throttle(5), {"verify": VerifyCommand()}]


@pytest.mark.proves("W11")
@pytest.mark.parametrize("order", NOT_FOR_IT, ids=lambda order: next(iter(order)))
def test_a_command_to_another_repository_of_this_name_is_refused_and_its_author_informed(order: dict[str, Any]) -> None:
    it = stuck()
    before = it.report().offset
    execute(it, command(5, subscriber_instance="former", **order))
    accepted, _, reason = told(it)["c5"]
    assert not accepted
    assert "for another repository of this name (instance former)" in reason
    assert (it.report().offset, it.report().state) == (before, State.RETRYING)


@pytest.mark.parametrize("order", [{"clear": ClearCommand(offset=12)}, skip(10)], ids=["clear", "skip"])
def test_a_command_that_removes_packages_must_name_the_repository(order: dict[str, Any]) -> None:
    it = stuck()
    execute(it, command(5, subscriber_instance="", **order), command(6, subscriber_instance="", **PAUSE))
    assert not told(it)["c5"][0]
    assert "it names no repository" in told(it)["c5"][2]
    assert told(it)["c6"][0]


@pytest.mark.proves("W11")
def test_an_older_copy_of_the_repository_imports_packages_processed_before_the_clear_again() -> None:
    it = stuck()
    execute(it, clear(13, at=5, position=11))
    while it.asks(ImportPackages):
        it.done(ImportPackages)
        it.save_all()
    assert told(it)["c5"] == (True, 2, "cleared up to offset 13")
    assert [offset for offset, status, _ in statuses(it) if status is Status.REMOVED] == [12, 13]
    assert it.report().imported == 2


def test_a_clear_of_packages_processed_before_it_is_refused() -> None:
    it = stuck()
    execute(it, clear(11, at=5, position=12))
    assert told(it)["c5"] == (False, 0, "nothing is left to clear up to offset 11: the position is already 12")


def test_a_clear_that_begins_later_does_not_replace_one_that_begins_here() -> None:
    it = stuck(golden="edge-0")
    execute(it, clear(13, at=5, position=11), clear(12, at=6), clear(12, at=7))
    told(it)
    assert [offset for offset, status, _ in statuses(it) if status is Status.REMOVED] == [10, 11, 12, 13]
    assert told(it)["c6"][0]


def test_commands_in_force_for_another_repository_are_shown_until_this_one_gets_a_command() -> None:
    it = ImporterDriver().arrive()
    others = (command(1, **PAUSE), clear(8, at=2), clear(12, at=3), command(4, log_id="another", **throttle(5)))
    it.feed(CommandsRead(void=tuple(each.command for each in others)))
    it.save_all()
    assert it.report().reason == (
        "another repository of this name was paused by ann (because), and cleared up to offset 12 by ann (because); "
        "that is not in force here: send the command again, or discard it with callboard resume edge-1"
    )
    execute(it, command(6, **RESUME))
    assert told(it)["c6"][0], "it does what the remark says"
    assert it.report().reason == ""
    execute(it, command(7, **RESUME))
    assert told(it)["c7"][2] == "it is not paused"
