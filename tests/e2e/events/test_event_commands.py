"""Distributed events at the command line, and the life of a job."""

import json

import pytest

from tests.e2e.conftest import Terminal


def test_events_are_published_listed_and_heard(terminal: Terminal) -> None:
    assert terminal.out("events", "list") == "no events\n"
    assert terminal.out("events", "listeners") == "no listener has a name\n"
    published = terminal.json("events", "publish", "shop/price", '{"cents": 99}')
    assert (published["topic"], published["properties"]) == ("shop/price", {"cents": 99})
    assert terminal.out("events", "publish", "shop/open").startswith("shop/open is published, as ")
    assert [each["topic"] for each in terminal.json("events", "list")] == ["shop/price", "shop/open"]
    assert [each["topic"] for each in terminal.json("events", "list", "--after", published["cursor"])] == ["shop/open"]
    listen = ("events", "listen", "shop/*", "--name", "mailer", "--oldest", "--limit", "1")
    assert json.loads(terminal.out(*listen, "--json"))["topic"] == "shop/price"
    assert "shop/open" in terminal.out(*listen)
    [state] = terminal.json("events", "listeners")
    assert (state["name"], state["behind"], state["problem"]) == ("mailer", 0, "")
    assert "mailer" in terminal.out("events", "listeners")
    assert terminal.out("events", "forget", "mailer") == "mailer is forgotten\n"
    assert terminal.json("events", "listeners") == []
    assert terminal.out("events", "packages").startswith("no events; ")
    assert "callboard.broadcast" in terminal.out("log", "trim", "--older-than-days", "0", "--yes")
    assert terminal.json("events", "list") == []


@pytest.mark.parametrize(
    ("words", "why"),
    [
        (("publish", "shop//price"), "topic is 'shop//price'"),
        (("publish", "a", "[1]"), "the properties are no JSON object"),
        (("publish", "a", "{bad"), "the properties are no JSON object; write them as"),
        (("list", "--after", "17"), "is no cursor"),
        (("forget", "nobody"), "there is no listener 'nobody'"),
    ],
)
def test_what_is_mistyped_is_refused(terminal: Terminal, words: tuple[str, ...], why: str) -> None:
    terminal.run("events", "publish", "a")
    done = terminal.run("events", *words, code=2)
    assert why in done.stderr


@pytest.mark.proves("J58")
def test_the_life_of_a_job_is_shown(terminal: Terminal) -> None:
    job = terminal.json("jobs", "add", "a")["id"]
    terminal.run("jobs", "drop", str(job), "--reason", "full", "--author", "ann")
    shown = terminal.out("jobs", "history", str(job)).splitlines()
    assert shown[-1].endswith("dropped, by ann: full")
    assert [each["kind"] for each in terminal.json("jobs", "history", str(job))] == ["added", "dropped"]
    first, second = terminal.json("jobs", "events", "--once")
    assert (first["kind"], second["kind"]) == ("added", "dropped")
    assert terminal.out("jobs", "events", "--once", "--after", first["cursor"]).endswith("dropped, by ann: full\n")
    assert "nothing is known of job 7" in terminal.run("jobs", "history", "7", code=2).stderr
