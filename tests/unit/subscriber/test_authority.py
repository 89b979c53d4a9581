"""Whom a subscriber obeys: with keys, only those who have one, and no command twice."""

from dataclasses import replace
from typing import Any

import pytest

from callboard.actors.subscriber.authority import IDS_MAX, SKEW_NS, distrust, remembered
from callboard.errors import ConfigError
from callboard.messages.codec import decode, encode
from callboard.messages.distribution import ClearCommand, CommandMessage, PauseCommand
from callboard.messages.ledger import Ledger
from callboard.messages.mailbox import CommandReceived
from callboard.messages.signing import CommandKey, is_genuine, signed
from callboard.testing.subscriber_example import LEDGER, ImporterDriver, command, settings

KEY = CommandKey("ops", b"0123456789abcdef")
OTHER = CommandKey("night", b"fedcba9876543210")
DAY_NS = 86_400 * 10**9
NOW_NS = 100 * DAY_NS


def received(key: CommandKey | None = KEY, *, appended_ns: int = NOW_NS, at: int = 5, **fields: Any) -> CommandReceived:
    message = command(at, **{"pause": PauseCommand(), "issued_ns": NOW_NS} | fields)
    order = signed(message.command, key) if key else message.command
    return replace(message, command=order, time_ns=appended_ns)


def judged(message: CommandReceived, ledger: Ledger = LEDGER, keys: tuple[CommandKey, ...] = (KEY, OTHER)) -> str:
    return distrust(message, settings(command_keys=keys), ledger)


@pytest.mark.proves("W30")
def test_a_signed_command_is_obeyed_and_an_unsigned_one_is_not() -> None:
    assert judged(received()) == ""
    assert judged(received(OTHER)) == ""
    assert "not signed" in judged(received(None))
    assert judged(received(None), keys=()) == ""


@pytest.mark.proves("W30")
def test_a_signature_by_a_stranger_is_refused() -> None:
    assert "not among the command_keys" in judged(received(CommandKey("eve", b"0123456789abcdef")))
    assert "signature is wrong" in judged(received(CommandKey("ops", b"another secret!!")))


@pytest.mark.proves("W30")
@pytest.mark.parametrize(
    "altered",
    [
        {"subscriber": "edge-2"},
        {"author": "eve"},
        {"reason": "none"},
        {"log_id": ""},
        {"command_id": "c6"},
        {"issued_ns": NOW_NS + 1},
        {"publisher": "site"},
        {"pause": None, "clear": ClearCommand(offset=99)},
        {"key_id": "night"},
        {"signature": b""},
    ],
)
def test_whatever_is_altered_in_a_command_voids_its_signature(altered: dict[str, Any]) -> None:
    message = received()
    assert judged(replace(message, command=replace(message.command, **altered)))


def test_what_a_newer_version_adds_to_a_command_is_signed_too() -> None:
    newer = signed(replace(received(None).command, unknown=b"\xa0\x06\x01"), KEY)
    assert is_genuine(decode(CommandMessage, encode(newer)), KEY)
    assert not is_genuine(replace(newer, unknown=b""), KEY)


def test_the_signature_of_a_command_is_the_same_as_ever() -> None:
    order = CommandMessage(
        subscriber_instance="",
        subscriber="edge-1",
        clear=ClearCommand(offset=4),
        command_id="c1",
        author="ann",
        log_id="l",
        issued_ns=1,
    )
    expected = "b7dc932075f6945093000ffb79e28273e25c0a309db357a5a0844a1327e6526d"
    assert signed(order, KEY).signature.hex() == expected


@pytest.mark.proves("W30")
def test_a_copy_that_is_appended_later_is_refused_whatever_the_subscriber_remembers() -> None:
    assert "an old one copied" in judged(received(appended_ns=NOW_NS + SKEW_NS + 1))


def test_a_command_that_waited_on_the_log_for_a_subscriber_that_was_away_is_obeyed() -> None:
    assert judged(received()) == ""  # by the times of its issue and its record, not by when it is read


def test_clocks_may_differ_by_the_stated_bound_and_a_clock_set_back_a_day_is_told() -> None:
    for skew_ns in (-SKEW_NS, SKEW_NS):
        assert judged(received(issued_ns=NOW_NS + skew_ns)) == ""
    set_back = judged(received(issued_ns=NOW_NS - DAY_NS))
    assert "was appended 86400 s after it was issued" in set_back
    assert "synchronise the clocks" in set_back
    assert "86400 s before" in judged(received(issued_ns=NOW_NS + DAY_NS))


@pytest.mark.proves("W30")
def test_a_replayed_command_is_refused_by_its_id_and_later_by_its_age_whatever_the_times_of_the_log() -> None:
    ledger = LEDGER
    first = received()
    for number in range(IDS_MAX + 5):
        message = received(at=5 + number, issued_ns=NOW_NS + number)
        assert judged(message, ledger) == ""
        ids, horizon_ns = remembered(ledger, message)
        ledger = replace(ledger, command_ids=ids, command_horizon_ns=horizon_ns)
        assert "obeyed before" in judged(message, ledger)
    assert len(ledger.command_ids) == IDS_MAX
    assert "older than commands that are forgotten" in judged(first, ledger)


def test_a_key_without_name_or_with_a_short_secret_is_refused_and_never_shown() -> None:
    with pytest.raises(ConfigError, match="needs a name"):
        CommandKey("", b"0123456789abcdef")
    with pytest.raises(ConfigError, match="16 at least"):
        CommandKey("ops", b"short")
    assert "0123456789" not in repr(settings(command_keys=(KEY,)))


@pytest.mark.proves("W30")
def test_an_unsigned_command_changes_nothing_and_the_ones_behind_it_are_obeyed() -> None:
    it = ImporterDriver(editable=True, command_keys=(KEY,)).arrive()
    it.order(received(None), received(at=6))
    it.save_all()
    it.sends_all()
    assert {name: result.accepted for name, result in it.results().items()} == {"c5": False, "c6": True}
    assert it.notes().count("command.refused") == 1
