"""An operator introduces keys, with actors in processes of their own, while an attacker writes without one."""

import asyncio
import os
from pathlib import Path

from callboard.backends.logs.sqlite import SqliteLog
from callboard.messages.distribution.topic_messages import ForgottenMessage
from callboard.messages.headers import new_record

SECRET = "0123456789abcdef0123456789abcdef"


def configure(folder: Path, *lines: str) -> None:
    text = "\n".join(('log = "sqlite:///./board.db"', *lines, "[subscriber]", 'into = "./out"', ""))
    (folder / "callboard.toml").write_text(text)


def forge(folder: Path) -> None:
    """Announce without a key that edge-1 is forgotten."""

    async def say() -> None:
        log = SqliteLog(folder / "board.db")
        word = ForgottenMessage(subscriber="edge-1", author="eve")
        await log.append("callboard.discovery", [new_record(word, record_id="x", time_ns=1, producer="eve")])
        await log.close()

    asyncio.run(say())


def of_this_user_with(secret: bytes) -> list[str]:
    """Processes that have the secret in their arguments or their environment."""
    found = []
    for process in Path("/proc").glob("[0-9]*"):
        for file in ("cmdline", "environ"):
            try:
                if process.name != str(os.getpid()) and secret in (process / file).read_bytes():
                    found.append(f"{process.name}/{file}")
            except OSError:
                continue  # it has ended, or belongs to another user
    return found


def test_keys_are_introduced_in_two_steps_after_which_forged_records_are_ignored(terminal):
    key = terminal.folder / "board.key"
    key.write_text(f"{SECRET}\n")
    key.chmod(0o644)
    configure(terminal.folder, 'signing_key = "ops=./board.key"')
    assert "chmod 600" in terminal.refused("status")
    key.chmod(0o600)
    terminal.run("publish", "./site")
    started = terminal.start("run", "subscriber", "edge-1", "--runtime", "processes", said="edge-1.log")
    terminal.until("edge-1", lambda row: row["imported"] == 1)
    assert of_this_user_with(SECRET.encode()) == []
    started.terminate()
    started.wait()
    forge(terminal.folder)
    assert terminal.json("status")["subscribers"] == []

    configure(terminal.folder, 'signing_key = "ops=./board.key"', 'trusted_keys = ["ops=./board.key"]')
    assert [row["name"] for row in terminal.json("status")["subscribers"]] == ["edge-1"]
    terminal.start("run", "subscriber", "edge-1", "--runtime", "processes", said="edge-1.log")
    terminal.until("edge-1", lambda row: row["liveness"] == "live")
    forge(terminal.folder)
    status = terminal.json("status")
    assert [row["name"] for row in status["subscribers"]] == ["edge-1"]
    assert any("callboard.discovery: 2 records do not count" in note for note in status["notes"])
    assert "forgets edge-1" not in terminal.out("log", "list", "--topic", "discovery")
    assert terminal.json("pause", "edge-1")["accepted"] is True
    told = (terminal.folder / "edge-1.log").read_text()
    assert "record.ignored" in told
    assert SECRET not in told
