"""A log that cannot be written: a command says what it waits for, and reading still works."""

import fcntl
import os
import subprocess
import sys

import pytest

READ_ONLY = "mkdir ro && mount --bind board.db ro && mount -o remount,bind,ro ro && "
"""In a mount namespace of its own, which ends with the command."""


def test_a_publisher_that_waits_for_a_lock_names_the_process_that_holds_it(terminal):
    offset = terminal.json("publish", "./site")["offset"]
    with (terminal.folder / "board.db" / "callboard.package.lock").open("r+") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        waiting = terminal.start("publish", "./site", "--full")
        output = waiting.stderr.readline()
        assert f"process {os.getpid()} keeps the turn to append to topic callboard.package" in output
        assert f"kill -CONT {os.getpid()}" in output
        assert f"process {os.getpid()} keeps the turn" in terminal.run("doctor", code=1).stdout
    assert waiting.wait(60) == 0
    assert terminal.json("log", "list")["items"][-1]["offset"] == offset + 1


@pytest.mark.parametrize("live", [False, True], ids=["at rest", "in use"])
def test_a_log_on_a_read_only_mount_can_be_read(terminal, live):
    if subprocess.run(["unshare", "-rm", "true"], check=False, capture_output=True).returncode:
        pytest.skip("this host does not let users make mounts")
    terminal.run("publish", "./site")
    terminal.run("run", "subscriber", "edge-1", "--into", "./out", "--until-caught-up")
    if live:
        terminal.start("run", "subscriber", "edge-1", "--into", "./out")
        terminal.until("edge-1", lambda row: row["liveness"] == "live")

    def look(*words: str) -> subprocess.CompletedProcess[str]:
        command = " ".join([sys.executable, "-m", "callboard", *words, "--log", "sqlite:///./ro"])
        script = ["unshare", "-rm", "sh", "-c", f"{READ_ONLY}{command}; code=$?; umount ro; rmdir ro; exit $code"]
        return subprocess.run(script, check=False, capture_output=True, text=True, cwd=terminal.folder)

    assert "edge-1" in look("status").stdout
    assert "main: ADD /" in look("log", "list").stdout
    assert "/index.html" in look("log", "show", "1").stdout
    assert "cannot be written by this user" in look("doctor").stdout
    refused = look("publish", "./site")
    assert refused.returncode == 4
    assert "mounted read-only" in refused.stderr
