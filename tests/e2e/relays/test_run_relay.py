"""``callboard run relay`` as it is typed, and mistyped."""

import time
from pathlib import Path

import pytest

from tests.e2e.conftest import DEADLINE_S, Terminal

TO = "sqlite:///./berlin.db"


@pytest.fixture
def centre(terminal: Terminal) -> Terminal:
    (terminal.folder / "source").mkdir()
    (terminal.folder / "source" / "a.txt").write_text("hello")
    terminal.run("init")
    terminal.run("publish", "./source")
    return terminal


def until_read(path: Path, text: str) -> None:
    deadline = time.monotonic() + DEADLINE_S
    while not path.exists() or path.read_text() != text:
        assert time.monotonic() < deadline
        time.sleep(0.05)


def test_a_relay_brings_packages_to_a_site_and_tells_of_it(centre: Terminal) -> None:
    relay = centre.start("run", "relay", "berlin", "--to", TO, "--create", said="relay.txt")
    edge = centre.start("run", "subscriber", "edge-1", "--log", TO, "--into", "./out", "--create", said="edge.txt")
    until_read(centre.folder / "out" / "a.txt", "hello")
    assert "berlin" in centre.out("status")
    for process in (relay, edge):
        process.terminate()
        assert process.wait(DEADLINE_S) == 0
    (centre.folder / "source" / "a.txt").write_text("again")
    centre.run("publish", "./source", "/a.txt")
    said = centre.out("run", "relay", "berlin", "--to", TO, "--until-caught-up")
    assert "berlin is caught up, at offset 2; it relayed 2 packages so far" in said
    centre.run("run", "subscriber", "edge-1", "--log", TO, "--into", "./out", "--until-caught-up")
    until_read(centre.folder / "out" / "a.txt", "again")


def test_the_file_can_say_it_all(centre: Terminal) -> None:
    with (centre.folder / "callboard.toml").open("a") as file:
        file.write('\n[relays.berlin]\nto = "sqlite:///./berlin.db"\nledger = "sqlite:./kept.db"\n')
    centre.run("init", "--config", "site.toml", "--log", TO)
    centre.run("run", "relay", "berlin", "--until-caught-up")
    assert (centre.folder / "kept.db").exists()
    assert "main: ADD /" in centre.out("log", "list", "--log", TO)


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("run", "relay", "berlin"), "has no log to append to; add --to URL, or set it in [relays.berlin]"),
        (("run", "relay", "berlin", "--to", "sqlite:///./board.db"), "would append to the log that it reads"),
        (("run", "relay", "berlin", "--to", "sqlite:///./absent.db"), "there is no log at ./absent.db yet"),
        (("run", "relay", "berlin", "--to", "memory:"), "would be lost at the end of this command"),
        (("run", "relay", "a/b", "--to", TO, "--create"), "name is 'a/b', but should be a name"),
        (("run", "relay", "x" * 200, "--to", TO, "--create"), "error: name is 'xxx"),
        (("run", "relay", "berlin", "--to", TO, "--create", "--ledger", "./source"), "an empty place for the ledger"),
        (("run", "relay", "berlin", "--to", TO, "--create", "--ledger", "sqlite:///./x.db"), "is 'sqlite:./x.db'"),
        (("run", "relay", "berlin", "--to", "postgresql://localhost:1/x"), "(for a relay's site: to_blobs)"),
        (("run", "relay", "berlin", "--to", TO, "--create", "--from", "sqlite:///./x.db", "--log", "sqlite:///./y.db"),
         "give one of them"),
        (("run", "relay", "berlin", "--to", TO, "--create", "--ledger", "./board.db"), "board.db"),
        (("run", "relay", "berlin", "--to", TO, "--create", "--follow", "nobody"), "nobody"),
        (("run", "relay", "berlin", "--to", "postgres//x", "--create"), "postgres//x"),
    ],
)  # fmt: skip
def test_a_mistake_is_refused_in_a_sentence(centre: Terminal, words: tuple[str, ...], said: str) -> None:
    assert said in centre.refused(*words)


def test_a_misspelt_setting_is_named(centre: Terminal) -> None:
    with (centre.folder / "callboard.toml").open("a") as file:
        file.write('\n[relays.berlin]\nto_blob = "x"\n')
    assert "unknown key 'to_blob' in [relays.berlin]; did you mean to_blobs?" in centre.refused("status")
