"""Commands that keep running: what they do, and how they end."""

import signal
import time
from pathlib import Path

import pytest


def descendants(pid: int) -> list[int]:
    """The processes below this one."""
    children = Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
    return [number for child in map(int, children) for number in (child, *descendants(child))]


@pytest.mark.parametrize(
    ("runtime", "number"), [("embedded", signal.SIGINT), ("embedded", signal.SIGTERM), ("processes", signal.SIGINT)]
)
def test_a_stopped_subscriber_announces_that_and_leaves_no_process(terminal, runtime, number):
    terminal.run("publish", "./site")
    process = terminal.start("run", "subscriber", "edge-1", "--into", "./out", "--runtime", runtime)
    terminal.until("edge-1", lambda row: row["state"] == "idle" and row["imported"] == 1)
    below = descendants(process.pid)
    assert bool(below) == (runtime == "processes")
    process.send_signal(number)
    _, output = process.communicate(timeout=60)
    assert process.returncode == 0, output
    assert "Traceback" not in output
    assert not [pid for pid in below if Path(f"/proc/{pid}").exists()]
    assert terminal.until("edge-1", lambda row: row["liveness"] == "stopped")["offset"] == 1


@pytest.mark.parametrize("delay_s", [0.02, 0.1, 0.2, 0.3, 0.5])
def test_an_interrupt_during_the_start_ends_a_command_without_a_traceback(terminal, delay_s):
    # What Python does with an interrupt before it has come to the main function is not ours to say.
    script = "import sys; from callboard.cli import main; sys.stderr.write('main\\n'); main()"
    process = terminal.start("run", "subscriber", "edge-1", "--into", "./out", script=script)
    assert process.stderr.readline() == "main\n"
    due = time.monotonic() + delay_s
    while time.monotonic() < due:
        time.sleep(0.005)
    process.send_signal(signal.SIGINT)
    _, output = process.communicate(timeout=60)
    assert process.returncode in (0, 130, -signal.SIGINT), output
    assert "Traceback" not in output


def test_a_publisher_ships_changes_in_the_folder_that_it_watches(terminal):
    site, out = terminal.folder / "site", terminal.folder / "out"
    terminal.start("run", "publisher", "site", "--from", "./site", "--watch", "0.1")
    terminal.start("run", "subscriber", "edge-1", "--into", "./out")
    wait_for((out / "blog" / "a.html").exists)
    (site / "new").mkdir()
    (site / "new" / "b.html").write_text("the second night")
    (site / "index.html").write_text("changed")
    (site / "blog" / "a.html").unlink()
    (site / "blog").rmdir()
    wait_for(lambda: (out / "new" / "b.html").exists() and not (out / "blog").exists())
    wait_for(lambda: (out / "index.html").read_text() == "changed")


def test_a_publisher_that_catches_up_ships_what_changed_while_it_did_not_watch(terminal):
    terminal.run("publish", "./site", "--publisher", "site")
    (terminal.folder / "site" / "index.html").write_text("changed")
    terminal.start("run", "publisher", "site", "--from", "./site", "--watch", "0.1", "--catch-up")
    terminal.start("run", "subscriber", "edge-1", "--into", "./out")
    index = terminal.folder / "out" / "index.html"
    wait_for(lambda: index.exists() and index.read_text() == "changed")


def test_catching_up_without_watching_is_refused(terminal):
    assert "--catch-up is for --watch" in terminal.refused("run", "publisher", "--from", "./site", "--catch-up")


def test_publish_waits_for_the_fleet_on_request(terminal):
    terminal.run("publish", "./site")
    terminal.start("run", "subscriber", "edge-1", "--into", "./out")
    terminal.until("edge-1", lambda row: row["state"] == "idle")
    package = terminal.json("publish", "./site", "--full", "--wait", "20")
    assert terminal.json("status")["subscribers"][0]["offset"] >= package["offset"]


def wait_for(condition) -> None:
    deadline = time.monotonic() + 60
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.02)
