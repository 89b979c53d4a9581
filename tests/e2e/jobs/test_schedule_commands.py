"""Schedules at the command line: set, looked at and commanded, and as they are mistyped."""

import pytest

from tests.e2e.conftest import Terminal


@pytest.mark.proves("J76", "J78", "J79", "J82", "J83")
def test_schedules_are_set_shown_and_commanded(terminal: Terminal) -> None:
    assert terminal.out("schedules") == "no schedule is set\n"
    assert terminal.json("schedules") == []
    nightly = ("nightly", "report/build", "30", "--cron", "30 3 * * *", "--cron", "0 12 * * SUN")
    made = terminal.out("schedules", "set", *nightly, "--zone", "Europe/Berlin", "--unique", "report")
    assert made.startswith("schedule nightly, 30 3 * * *; 0 12 * * SUN (Europe/Berlin): next at 2")
    every = terminal.json("schedules", "set", "often", "a", "--every", "90", "--catch-up", "3", "--author", "ann")
    assert (every["every_s"], every["catch_up"], every["author"], every["job"]["topic"]) == (90.0, 3, "ann", "a")
    assert terminal.json("schedules", "set", "often", "a", "--every", "90", "--catch-up", "3") == every
    terminal.run("schedules", "set", "sale", "a", "--at", "2099-11-27T08:00", "--zone", "Europe/Berlin")
    [listed] = terminal.json("schedules", "list", "--topic", "report/*")
    assert (listed["name"], listed["job"]["payload"], listed["job"]["unique"]) == ("nightly", 30, "report")
    table = terminal.out("schedules")
    assert "2099-11-27 08:00:00+01:00" in table
    assert "every 90 s" in table
    assert terminal.out("schedules", "next", "sale") == "2099-11-27 08:00:00+01:00\n"
    ticks = terminal.json("schedules", "next", "often", "3")
    assert [ticks[1] - ticks[0], ticks[2] - ticks[1]] == [90_000, 90_000]
    assert terminal.out("schedules", "next", "nightly", "35").count(" 12:00:00+0") >= 4
    added = terminal.json("schedules", "run", "nightly")
    assert (added["topic"], added["payload"]) == ("report/build", 30)
    assert f"job {added['id']}, report/build" in terminal.out("schedules", "run", "nightly")
    assert terminal.out("schedules", "suspend", "nightly", "--reason", "full") == "nightly is suspended\n"
    assert terminal.out("schedules", "next", "nightly") == "nightly is suspended\n"
    assert terminal.out("schedules", "set", *nightly).endswith("suspended\n")
    assert terminal.json("schedules", "resume", "nightly") == {"schedule": "nightly", "done": "resumed"}
    assert terminal.out("schedules", "remove", "nightly") == "nightly is removed\n"
    assert [each["name"] for each in terminal.json("schedules")] == ["often", "sale"]


@pytest.mark.proves("J77")
@pytest.mark.parametrize(
    ("words", "text"),
    [
        (("suspend", "nightyl"), "there is no schedule 'nightyl'; did you mean 'nightly'?"),
        (("next", "x"), "there is no schedule 'x'; see `callboard schedules`"),
        (("run", "x"), "there is no schedule 'x'"),
        (("set", "x", "a"), "one of cron, every_s and at"),
        (("set", "x", "a", "--cron", "61 * * * *"), "Bad minute"),
        (("set", "x", "a", "--at", "tomorrow"), "--at is 'tomorrow', which is no time"),
        (("set", "x", "a", "--at", "2020-01-01T00:00"), "which is past"),
        (("set", "x", "a", "--every", "9", "--catch-up", "all"), "catch_up is 'all'"),
        (("set", "x", "a", "{to", "--every", "9"), "the payload is no JSON"),
        (("remov", "x"), "Did you mean 'remove'"),
    ],
    ids=" ".join,
)
def test_what_is_mistyped_is_refused(terminal: Terminal, words: tuple[str, ...], text: str) -> None:
    terminal.run("schedules", "set", "nightly", "a", "--cron", "0 3 * * *")
    assert text in terminal.refused("schedules", *words)
