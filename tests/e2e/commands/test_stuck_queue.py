"""A package that cannot be imported is shown, explained, and skipped."""

import sqlite3
from contextlib import closing

import pytest


def flip_a_bit(database, marker: bytes) -> None:
    """Damage the content of the one record that holds the marker."""
    with closing(sqlite3.connect(database)) as db, db:
        for offset, payload in db.execute("SELECT offset, payload FROM records").fetchall():
            if (at := payload.find(marker)) >= 0:
                damaged = payload[:at] + bytes([payload[at] ^ 1]) + payload[at + 1 :]
                db.execute("UPDATE records SET payload = ? WHERE offset = ?", (damaged, offset))
                return
    raise AssertionError(f"no record holds {marker!r}")


def test_a_damaged_package_blocks_its_queue_until_an_operator_clears_it(terminal):
    damaged = terminal.json("publish", "./site", "/index.html")["offset"]
    flip_a_bit(terminal.folder / "board.db" / "callboard.package.db", b"welcome")
    terminal.run("publish", "./site", "/blog")

    stuck = terminal.run("run", "subscriber", "edge-1", "--into", "./out", "--until-caught-up", code=1)
    assert "blocked" in stuck.stderr
    terminal.start("run", "subscriber", "edge-1", "--into", "./out", "--editable")
    blocked = terminal.until("edge-1", lambda row: row["state"] == "blocked" and row["liveness"] == "live")
    assert blocked["reason"]
    assert blocked["lag_packages"] == 2
    shown = terminal.out("status")
    assert "edge-1 has been blocked" in shown
    assert "$ callboard skip edge-1" in shown
    assert "blocked" in terminal.out("queue", "--cohort", "persisted")
    head = terminal.json("queue", "edge-1")["items"][0]
    assert (head["offset"], head["attempts"] > 0, bool(head["error"])) == (damaged, True, True)
    assert terminal.json("log", "show", head["entry"])["offset"] == damaged
    assert "not an entry of a queue" in terminal.refused("log", "show", "nonsense@7")

    assert "--yes" in terminal.refused("clear", "edge-1", "--first", "1")
    cleared = terminal.json("clear", "edge-1", "--first", "1", "--yes", "--reason", "damaged on disk")
    assert (cleared["packages"], cleared["offset"]) == (1, damaged)
    terminal.until("edge-1", lambda row: row["state"] == "idle" and row["lag_packages"] == 0)
    assert (terminal.folder / "out" / "blog" / "a.html").exists()
    assert not (terminal.folder / "out" / "index.html").exists()
    assert "damaged on disk" in terminal.out("log", "list", "--topic", "command")


@pytest.mark.proves("F51", "F52", "W18")
def test_a_package_that_was_given_up_is_in_the_error_queue(terminal):
    (terminal.folder / "callboard.toml").write_text('[subscribers.edge-1]\non_undecodable = "dead_letter"\n')
    terminal.run("publish", "./site")
    flip_a_bit(terminal.folder / "board.db" / "callboard.package.db", b"welcome")
    terminal.start("run", "subscriber", "edge-1", "--into", "./out")
    terminal.until("edge-1", lambda row: row["errors"] == 1)
    errors = terminal.json("errors", "edge-1")
    assert errors["size"] == 1
    assert errors["items"][0]["reason"]
    offset = errors["items"][0]["offset"]
    assert f"$ callboard retry edge-1 {offset}" in terminal.out("errors")
    assert 'callboard_subscriber_errors{status="given_up",subscriber="edge-1"} 1.0\n' in terminal.out("metrics")
    assert "live" in terminal.refused("forget", "edge-1")
    terminal.run("skip", "edge-1", str(offset), "--reason", "damaged on disk")
    assert terminal.json("errors", "edge-1")["size"] == 0


@pytest.mark.proves("W26", "W38")
def test_a_stopped_subscriber_is_shown_until_it_is_forgotten(terminal):
    terminal.run("publish", "./site")
    terminal.run("run", "subscriber", "edge-1", "--into", "./out", "--until-caught-up")
    (row,) = terminal.json("status")["subscribers"]
    assert (row["liveness"], row["counts"]) == ("stopped", False)
    terminal.run("forget", "edge-1", "--reason", "scaled down")
    assert terminal.json("status")["subscribers"] == []
    assert "ever heard of" in terminal.refused("forget", "edge-1")


def test_the_queue_of_a_subscriber_that_is_not_editable_cannot_be_cleared(terminal):
    terminal.run("publish", "./site")
    terminal.run("run", "subscriber", "edge-1", "--into", "./out", "--until-caught-up")
    assert "not editable" in terminal.refused("clear", "edge-1", "--yes")
