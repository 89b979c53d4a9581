"""What cannot be done is refused in one sentence, with the exit code for its kind."""

import json

import pytest


def test_a_missing_log_is_reported_and_not_created(newcomer):
    terminal = newcomer
    before = sorted(terminal.folder.rglob("*"))
    for words in (("publish", "./site"), ("run", "publisher"), ("run", "subscriber", "edge-1", "--into", "./out")):
        assert "there is no log at ./board.db yet; run `callboard init`, or add --create" in terminal.refused(*words)
    for words in (
        ("status",),
        ("queue", "edge-1"),
        ("errors",),
        ("log", "list"),
        ("delete", "/a"),
        ("test",),
        ("clear", "edge-1", "--yes"),
    ):
        assert "there is no log at ./board.db yet" in terminal.refused(*words)
    assert "there is no log" in terminal.run("doctor", code=1).stdout
    assert sorted(terminal.folder.rglob("*")) == before


def test_the_error_for_a_typo_in_the_configuration_names_the_line_and_suggests_the_name(terminal):
    (terminal.folder / "callboard.toml").write_text("[subscriber]\nmax_retrys = 3\n")
    assert "callboard.toml:2: unknown key 'max_retrys' in [subscriber]; did you mean max_retries?" in terminal.refused(
        "status"
    )


@pytest.mark.parametrize("words", [("publish", "./site"), ("run", "subscriber", "e", "--into", "./out"), ("status",),
                                   ("delete", "/a"), ("init",), ("doctor",)])  # fmt: skip
def test_a_command_refuses_a_log_in_memory_because_it_would_be_lost(newcomer, words):
    assert "would be lost at the end of this command" in newcomer.refused(*words, "--log", "memory:")
    assert not (newcomer.folder / "out").exists()


@pytest.mark.parametrize("words", ["publish ./site", "run subscriber e --into ./out --until-caught-up"])
def test_a_board_is_created_where_it_is_asked_for(newcomer, words):
    newcomer.run(*words.split(), "--create")
    newcomer.run("publish", "./site")


def test_a_board_of_an_older_version_gets_its_missing_topics(terminal):
    for file in (terminal.folder / "board.db").glob("callboard.event.*"):
        file.unlink()
    terminal.run("publish", "./site")
    assert terminal.json("events") == []


def test_a_configuration_is_never_overwritten(terminal):
    terminal.run("init")
    before = (terminal.folder / "callboard.toml").read_text()
    assert "already exist" in terminal.refused("init")
    assert (terminal.folder / "callboard.toml").read_text() == before


def test_init_creates_the_missing_log_of_a_configuration(newcomer):
    terminal = newcomer
    text = 'log = "sqlite:///./other.db"\n'
    (terminal.folder / "callboard.toml").write_text(text)
    assert "created the log ./other.db" in terminal.out("init")
    assert (terminal.folder / "callboard.toml").read_text() == text
    assert terminal.json("log", "list")["items"] == []


def test_paths_that_cannot_be_shipped_are_named_and_nothing_is_appended(terminal):
    (terminal.folder / "site" / "out").symlink_to("/etc/passwd")
    assert "site2 does not exist" in terminal.refused("publish", "./site2")
    assert "nope does not exist" in terminal.refused("publish", "./site", "/nope")
    assert "not normalised" in terminal.refused("publish", "./site", "/../secret")
    assert "could lead out of the root" in terminal.refused("publish", "./site")
    assert terminal.json("log", "list")["items"] == []


def test_a_second_subscriber_with_the_same_name_or_repository_is_refused(terminal):
    terminal.run("publish", "./site")
    terminal.start("run", "subscriber", "edge-1", "--into", "./out")
    terminal.until("edge-1", lambda row: row["state"] == "idle")
    taken = terminal.run("run", "subscriber", "edge-1", "--into", "./elsewhere", code=3).stderr
    assert "'edge-1' already runs" in taken
    held = terminal.run("run", "subscriber", "edge-2", "--into", "./out", code=3).stderr
    assert "stop that one or choose another" in held


def test_an_unwritable_target_stops_the_subscriber_with_the_reason(terminal):
    (terminal.folder / "out").write_text("a file, and no folder")
    assert "Not a directory" in terminal.run("run", "subscriber", "edge-1", "--into", "./out", code=4).stderr


def test_a_subscriber_needs_a_target(terminal):
    assert "add --into DIR" in terminal.refused("run", "subscriber", "edge-1")


def test_a_publisher_does_not_start_on_a_missing_folder(terminal):
    refused = terminal.refused("run", "publisher", "--from", "./nosuch", "--requests", "-")
    assert "there is no folder ./nosuch to ship from; create it, or name another (--from)" in refused


def test_requests_are_answered_in_order_and_bad_ones_with_a_reason(terminal):
    requests = [
        '{"kind": "add", "paths": ["/blog"], "request_id": "1"}',
        '{"kind": "add", "path": "/blog"}',
        "what?",
        '{"kind": "delete", "paths": ["/blog"], "request_id": "2"}',
        '{"kind": "add", "source": "./nowhere", "request_id": "3"}',
    ]
    done = terminal.run("run", "publisher", "site", "--from", "./site", "--requests", "-", given="\n".join(requests))
    answers = [json.loads(line) for line in done.stdout.splitlines()]
    assert [answer["accepted"] for answer in answers] == [True, False, False, True, False]
    assert [answer["request_id"] for answer in answers] == ["1", "", "", "2", "3"]
    assert answers[3]["offset"] > answers[0]["offset"]
    assert "does not exist" in answers[4]["reason"]
