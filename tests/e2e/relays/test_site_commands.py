"""What an operator at the centre types about the subscribers of a site."""

import asyncio
from typing import Any

import pytest

from callboard import Callboard


@pytest.fixture
def relayed(newcomer: Any) -> Any:
    """A centre and a site with a relay and two subscribers, one of them paused with a package before it."""
    terminal = newcomer
    terminal.run("init")
    terminal.run("publish", "./site")

    async def make() -> None:
        async with Callboard("sqlite:///./berlin.db", base=terminal.folder):
            pass

    asyncio.run(make())
    terminal.start("run", "relay", "berlin", "--to", "sqlite:///./berlin.db", said="relay.log")
    for name in ("edge-1", "edge-2"):
        words = ("run", "subscriber", name, "--log", "sqlite:///./berlin.db", "--into", f"./{name}", "--editable")
        terminal.start(*words, said=f"{name}.log")
    terminal.until("berlin", lambda row: row["lag_packages"] == 0 and row["site"]["states"] == {"idle": 2})
    assert "edge-1 is paused" in terminal.out("pause", "berlin/edge-1", "--reason", "a new disk")
    (terminal.folder / "site" / "index.html").write_text("again")
    terminal.run("publish", "./site", "/index.html")
    terminal.until("berlin", lambda row: row["needs"] and row["site"]["rows"][0]["lag_packages"] == 1)
    return terminal


def test_the_centre_drills_down_and_commands(relayed):
    screen = relayed.out("status")
    assert "1 of the 2 subscribers of the site needs an operator: berlin/edge-1 (paused)" in screen
    assert "$ callboard status berlin" in screen
    assert "1 of 2 " in screen
    tree = relayed.out("status", "berlin")
    assert "1 more is not named" in tree
    assert "[relays.berlin]" in tree
    assert "paused by" in relayed.out("status", "berlin/edge-1")
    said = relayed.run("queue", "berlin/edge-1")
    assert "1 package" in said.stdout
    assert "callboard queue edge-1" in said.stdout + said.stderr
    assert "nothing is known here of berlin/edge-2" in relayed.refused("queue", "berlin/edge-2")
    assert "did you mean 'berlin'?" in relayed.refused("queue", "berlim/edge-1")
    assert "nothing is known here" in relayed.refused("errors", "berlin/edge-2")

    with (relayed.folder / "callboard.toml").open("a") as file:
        file.write('\n[relays.berlin]\nto = "sqlite:///./berlin.db"\n')
    tree = relayed.json("status", "berlin")["sites"]
    assert [row["name"] for row in tree[0]["rows"]] == ["berlin/edge-1", "berlin/edge-2"]
    assert "berlin/edge-2  idle" in relayed.out("status", "berlin/edge-2")
    assert [row["offset"] for row in relayed.json("queue", "berlin/edge-1")["items"]] == [2]
    assert "callboard resume berlin/edge-1" in relayed.out("queue", "berlin/edge-1")
    assert "at site berlin: no subscriber 'edge-9'" in relayed.refused("queue", "berlin/edge-9")
    assert "no package is in an error queue" in relayed.out("errors", "berlin/edge-1")
    assert "is paused" in relayed.out("explain", "berlin/edge-1", "/index.html")
    assert "0 differences" in relayed.out("verify", "berlin/edge-2")
    assert "berlin/edge-1 skipped 1 package" in relayed.out("clear", "berlin/edge-1", "--yes")
    assert "use --up-to" in relayed.refused("clear", "berlin/edge-1", "--first", "1")
    assert "has resumed" in relayed.out("resume", "berlin/edge-1")
    assert "has no subscriber 'edge-9'" in relayed.refused("pause", "berlin/edge-9")
    relayed.until("berlin", lambda row: not row["needs"] and row["lag_packages"] == 0)
    assert (relayed.folder / "edge-1" / "index.html").read_text() == "welcome to the theatre"
    assert (relayed.folder / "edge-2" / "index.html").read_text() == "again"
