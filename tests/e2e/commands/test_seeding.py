"""A new subscriber starts with the content of another one, and imports only later packages."""

import shutil
from pathlib import Path

import pytest


def tree(folder: Path) -> dict[str, bytes]:
    return {
        path.relative_to(folder).as_posix(): path.read_bytes() if path.is_file() else b""
        for path in folder.rglob("*")
        if ".callboard" not in path.parts
    }


@pytest.fixture
def imported(terminal):
    """A board whose subscriber edge-1 has two packages, and on whose log is a third."""
    (terminal.folder / "site" / "large.bin").write_bytes(b"large" * 50_000)
    terminal.run("publish", "./site")
    terminal.run("delete", "/blog/a.html")
    terminal.run("run", "subscriber", "edge-1", "--into", "./out-1", "--until-caught-up")
    (terminal.folder / "site" / "index.html").write_text("changed")
    return [1, 2, terminal.json("publish", "./site", "/index.html")["offset"]]


def came_by_the_tail_alone(terminal, imported, into: str) -> None:
    """The new subscriber imports one package, not three, and has what the others have."""
    output = terminal.out("run", "subscriber", "edge-2", "--into", into, "--until-caught-up")
    row = terminal.until("edge-2", lambda row: row["offset"] == imported[2])
    assert row["imported"] == 3, output  # two of these are its origin's
    terminal.run("run", "subscriber", "edge-1", "--into", "./out-1", "--until-caught-up")
    rows = {row["name"]: row for row in terminal.json("status")["subscribers"]}
    assert rows["edge-1"]["instance"] != rows["edge-2"]["instance"]


@pytest.mark.proves("F70", "F71")
@pytest.mark.parametrize("into", ["./out-2", "sqlite:out-2.db"])
def test_a_clone_of_a_repository_carries_its_position(terminal, imported, into):
    seeded = terminal.json("seed", "edge-2", "--into", into, "--from-repository", "./out-1")
    assert (seeded["origin"], seeded["offset"]) == ("edge-1", imported[1])
    if into == "./out-2":
        assert tree(terminal.folder / "out-2") == tree(terminal.folder / "out-1")
    terminal.run("log", "trim", "--below", str(imported[2]), "--yes")
    came_by_the_tail_alone(terminal, imported, into)
    output = terminal.refused("seed", "edge-3", "--into", into, "--from-repository", "./out-1")
    assert "belongs to a subscriber" in output


@pytest.mark.proves("F70", "F71")
def test_a_snapshot_seeds_a_subscriber_of_a_trimmed_log(terminal, imported):
    (terminal.folder / "callboard.toml").write_text('[subscribers.edge-1]\ninto = "./out-1"\n')
    assert terminal.json("snapshot", "edge-1", "--to", "edge.snapshot")["offset"] == imported[1]
    assert "choose a new file" in terminal.refused("snapshot", "./out-1", "--to", "edge.snapshot")
    terminal.run("log", "trim", "--below", str(imported[2]), "--yes")
    terminal.run("seed", "edge-2", "--into", "./out-2", "--from", "edge.snapshot")
    assert tree(terminal.folder / "out-2") == tree(terminal.folder / "out-1")
    came_by_the_tail_alone(terminal, imported, "./out-2")
    assert tree(terminal.folder / "out-2") == tree(terminal.folder / "out-1")


@pytest.mark.proves("F70", "F71", "W3")
def test_content_older_than_the_start_of_the_log_seeds_no_subscriber(terminal, imported):
    terminal.run("snapshot", "./out-1", "--to", "edge.snapshot")
    terminal.run("log", "trim", "--below", str(imported[2] + 1), "--yes")
    for origin in (("--from", "edge.snapshot"), ("--from-repository", "./out-1")):
        output = terminal.refused("seed", "edge-2", "--into", "./out-2", *origin)
        assert f"packages {imported[2]} to {imported[2]} were trimmed" in output
    shutil.rmtree(terminal.folder / "board.db")
    terminal.run("publish", "./site", "--create")
    assert "log was replaced" in terminal.refused("seed", "edge-2", "--into", "./out-2", "--from", "edge.snapshot")
    assert not (terminal.folder / "out-2").exists()


@pytest.mark.proves("F70", "W3")
def test_a_subscriber_that_fell_out_of_retention_is_seeded_into_a_new_repository_and_not_automatically(
    terminal, imported
):
    terminal.run("run", "subscriber", "edge-2", "--into", "./out-2", "--until-caught-up")
    terminal.run("snapshot", "./out-2", "--to", "edge.snapshot")
    terminal.run("log", "trim", "--below", str(imported[2] + 1), "--yes")
    run = ("run", "subscriber", "edge-1", "--into")
    assert "were trimmed" in terminal.run(*run, "./out-1", "--until-caught-up", code=1).stderr
    assert "fill an empty repository under its name with `callboard seed`" in terminal.refused(
        *run, "./out-1", "--on-gap", "reseed"
    )
    (terminal.folder / "site" / "index.html").write_text("changed again")
    last = terminal.json("publish", "./site", "/index.html")["offset"]
    terminal.run("seed", "edge-1", "--into", "./again", "--from", "edge.snapshot")
    terminal.run(*run, "./again", "--until-caught-up")
    terminal.run("run", "subscriber", "edge-2", "--into", "./out-2", "--until-caught-up")
    assert tree(terminal.folder / "again") == tree(terminal.folder / "out-2")
    rows = {row["name"]: row["offset"] for row in terminal.json("status")["subscribers"]}
    assert rows == {"edge-1": last, "edge-2": last}


def test_a_repository_that_is_in_use_or_missing_seeds_no_subscriber(terminal, imported):
    terminal.start("run", "subscriber", "edge-1", "--into", "./out-1")
    terminal.until("edge-1", lambda row: row["offset"] == imported[2])
    terminal.refused("snapshot", "./out-1", "--to", "edge.snapshot", code=3)
    terminal.refused("seed", "edge-2", "--into", "./out-2", "--from-repository", "./out-1", code=3)
    assert "does not exist" in terminal.refused("snapshot", "./nowhere", "--to", "edge.snapshot")
    assert "no position" in terminal.refused("snapshot", "./site", "--to", "edge.snapshot")
    assert "say what to start from" in terminal.refused("seed", "edge-2", "--into", "./out-2")
    assert not any((terminal.folder / name).exists() for name in ("out-2", "edge.snapshot", "nowhere"))


@pytest.mark.proves("F97")
def test_resetting_a_position_keeps_the_content(terminal, imported):
    assert "There is no terminal to ask on" in terminal.refused("reset", "./out-1")
    assert terminal.json("reset", "./out-1", "--to", str(imported[1]), "--yes")["before"] == imported[1]
    assert (terminal.folder / "out-1" / "index.html").exists()
    assert "holds [" in terminal.refused("reset", "./out-1", "--to", "99", "--yes")
    terminal.run("run", "subscriber", "edge-1", "--into", "./out-1", "--until-caught-up")
    assert terminal.until("edge-1", lambda row: row["offset"] == imported[2])["imported"] == 2
    terminal.run("reset", "./out-1", "--yes")
    terminal.run("run", "subscriber", "edge-1", "--into", "./out-1", "--until-caught-up")
    assert terminal.until("edge-1", lambda row: row["offset"] == imported[2])["imported"] == 3
    assert "does not exist" in terminal.refused("reset", "./nowhere", "--yes")
