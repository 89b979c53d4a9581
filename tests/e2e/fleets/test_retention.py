"""Retention at the command line: which subscribers it warns of and waits for, and what happens to the others."""

import json

import pytest

from tests.e2e.conftest import Terminal


def with_retention(terminal: Terminal, text: str) -> None:
    (terminal.folder / "callboard.toml").write_text(f"[retention]\n{text}\n")


def stopped_at_the_first_package(terminal: Terminal, packages: int = 3) -> list[int]:
    """A subscriber that has the first package, and was stopped before the others; their offsets."""
    first = terminal.json("publish", "./site")["offset"]
    terminal.run("run", "subscriber", "edge-1", "--into", "./out", "--until-caught-up")
    return [first, *(terminal.json("publish", "./site", "--full")["offset"] for _ in range(packages - 1))]


@pytest.mark.proves("W3", "W27")
def test_the_gate_refuses_to_trim_past_a_stopped_subscriber_and_force_makes_a_gap(terminal):
    offsets = stopped_at_the_first_package(terminal)
    with_retention(terminal, 'gate = "subscribers"')
    plan = terminal.json("log", "trim", "--below", str(offsets[2]), "--dry-run")
    assert plan[0]["missed_by"] == [{"name": "edge-1", "offset": offsets[1]}]
    assert "missed by edge-1" in terminal.out("log", "trim", "--below", str(offsets[2]), "--dry-run")
    output = terminal.refused("log", "trim", "--below", str(offsets[2]), "--yes")
    assert f"edge-1 (from offset {offsets[1]})" in output
    assert f"--below {offsets[1]}" in output
    terminal.run("log", "trim", "--below", str(offsets[1]), "--yes")
    assert [record["offset"] for record in terminal.json("log", "list")["items"]] == offsets[1:]

    terminal.run("log", "trim", "--below", str(offsets[2]), "--force", "--yes")
    done = terminal.run("run", "subscriber", "edge-1", "--into", "./out", "--until-caught-up", code=1)
    assert f"packages {offsets[1]} to {offsets[1]} were trimmed" in done.stderr


@pytest.mark.proves("W27")
def test_a_publisher_trims_no_further_than_its_slowest_subscriber(terminal):
    offsets = stopped_at_the_first_package(terminal)
    with_retention(terminal, 'above_mb = 0.000001\ngate = "subscribers"')
    process = terminal.start("run", "publisher", "site")
    for line in process.stderr:
        if "log.trimmed" in line:
            assert json.loads(line)["callboard.package"] == offsets[1]
            break
    terminal.run("run", "subscriber", "edge-1", "--into", "./out", "--until-caught-up")


@pytest.mark.proves("W27")
def test_the_status_warns_of_a_subscriber_that_is_about_to_fall_out_of_retention(terminal):
    stopped_at_the_first_package(terminal)
    with_retention(terminal, "older_than_days = 30")
    assert "falls out" not in terminal.run("status").stderr
    with_retention(terminal, "older_than_days = 0.0000001")
    assert "edge-1 falls out of retention in about 0 s" in terminal.run("status").stderr
    with_retention(terminal, "above_mb = 0.0001")
    [forecast] = terminal.json("status")["retention_forecast"]
    assert (forecast["subscriber"], forecast["soon"]) == ("edge-1", True)
    terminal.run("run", "subscriber", "edge-1", "--into", "./out", "--until-caught-up")
    assert terminal.json("status")["retention_forecast"] == []


def test_the_archive_gate_needs_the_position_of_the_archive(terminal):
    offsets = stopped_at_the_first_package(terminal)
    with_retention(terminal, 'gate = "archive"')
    assert "archive_tip" in terminal.refused("status")
    with_retention(terminal, 'gate = "archive"\narchive_tip = "tip.json"')
    assert "start archiving" in terminal.refused("log", "trim", "--below", str(offsets[1]), "--yes")
