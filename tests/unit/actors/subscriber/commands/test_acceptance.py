"""Which commands a subscriber carries out: trusted ones only, and each only once."""

from dataclasses import replace
from typing import Any

import pytest

from callboard.actors.subscriber.commands.acceptance import IDS_MAX, distrust, remembered
from callboard.messages.distribution.ledger import Ledger
from callboard.messages.distribution.mailbox import CommandReceived
from callboard.messages.distribution.topic_messages import PauseCommand
from callboard.testing.drivers.subscriber_example import LEDGER, LOG, ImporterDriver, command, settings

NOW_NS = 10**18


def received(*, at: int = 5, distrust: str = "", **fields: Any) -> CommandReceived:
    given = {"pause": PauseCommand(), "issued_ns": NOW_NS, "log_id": LOG, "subscriber_instance": "me"}
    return replace(command(at, **given | fields), time_ns=NOW_NS, distrust=distrust)


def judged(message: CommandReceived, ledger: Ledger = LEDGER, *, signed: bool = True) -> str:
    return distrust(message, settings(signed=signed), ledger)


@pytest.mark.proves("W30")
def test_an_untrusted_command_is_refused_with_the_reason_and_not_read_further() -> None:
    assert judged(received()) == ""
    forged = received(distrust="it is not signed", subscriber_instance="another")
    assert judged(forged) == "it is not signed"
    assert judged(forged, signed=False) == "it is not signed"


@pytest.mark.proves("W30")
@pytest.mark.parametrize("lacking", ["subscriber_instance", "log_id", "command_id"])
def test_with_keys_a_command_must_name_its_repository_and_log(lacking: str) -> None:
    message = received(**{lacking: ""})
    assert "may be an old one" in judged(message)
    assert judged(message, signed=False) == ""


def test_with_keys_a_new_repository_refuses_a_pause_that_names_no_repository() -> None:
    rebuilt = replace(LEDGER, instance="rebuilt")
    assert "may be an old one" in judged(received(subscriber_instance=""), rebuilt)
    assert "for another repository of this name" in judged(received(), rebuilt)


@pytest.mark.proves("W30")
def test_a_replayed_command_is_refused_by_its_id_and_later_by_its_age() -> None:
    ledger = LEDGER
    first = received()
    for number in range(IDS_MAX + 5):
        message = received(at=5 + number, issued_ns=NOW_NS + number)
        assert judged(message, ledger) == ""
        ids, horizon_ns = remembered(ledger, message)
        ledger = replace(ledger, command_ids=ids, command_horizon_ns=horizon_ns)
        assert "accepted before" in judged(message, ledger)
    assert len(ledger.command_ids) == IDS_MAX
    assert "older than the commands remembered here" in judged(first, ledger)


@pytest.mark.proves("W30")
def test_an_unsigned_command_changes_nothing_and_later_commands_are_carried_out() -> None:
    it = ImporterDriver(editable=True, signed=True).arrive()
    it.order(received(distrust="it is not signed"), received(at=6))
    it.save_all()
    it.sends_all()
    assert {name: result.accepted for name, result in it.results().items()} == {"c5": False, "c6": True}
    assert it.notes().count("command.refused") == 1


@pytest.mark.proves("W30")
def test_an_untrusted_copy_does_not_change_the_result_of_a_command() -> None:
    it = ImporterDriver(editable=True, signed=True).arrive()
    it.order(received(command_id="c1"), received(at=6, command_id="c1", distrust="it is a copy"))
    it.save_all()
    it.sends_all()
    assert {name: result.accepted for name, result in it.results().items()} == {"c1": True}
    assert it.notes().count("command.refused") == 1
