"""A typo in --into removes nothing: what callboard did not put there stays until the user agrees."""

import sqlite3

import pytest

UNTIL = ("--until-caught-up",)


def tree(folder):
    """Everything below, without the own files of the repository and of the log."""
    files = (path for path in folder.rglob("*") if not {".callboard", "board.db"} & set(path.parts))
    return {str(path.relative_to(folder)): path.read_bytes() if path.is_file() else None for path in files}


@pytest.fixture
def board(terminal):
    terminal.run("init")
    terminal.run("publish", "./site")
    (terminal.folder / "www").mkdir()
    (terminal.folder / "www" / "mine").write_text("mine")
    (terminal.folder / "www" / "index.html").write_text("an older page")
    return terminal


def test_the_boards_own_folders_are_never_accepted_as_a_target(board):
    (board.folder / "callboard.toml").write_text('[publisher]\nsource = "./site"\n[archive]\nplace = "./kept"\n')
    (board.folder / "link").symlink_to(".")
    before = tree(board.folder)
    for into in (".", "./link", "./board.db/out", "./site", "./kept"):
        output = board.refused("run", "subscriber", "edge", "--into", into, "--replace", "--yes")
        assert "choose a folder of its own" in output
    assert "choose a folder of its own" in board.refused("seed", "edge", "--into", ".", "--from", "x")
    assert tree(board.folder) == before


def test_a_folder_that_is_not_empty_is_refused_and_nothing_in_it_changes(board):
    before = sorted((board.folder / "www").rglob("*"))
    for runtime in ("embedded", "processes"):
        output = board.refused("run", "subscriber", "edge", "--into", "./www", "--runtime", runtime, *UNTIL)
        assert "holds 'index.html', 'mine', which callboard did not put there" in output
        assert "--adopt" in output
        assert "--replace" in output
    assert sorted((board.folder / "www").rglob("*")) == before


def test_adopted_content_stays_beside_that_of_packages(board):
    board.run("run", "subscriber", "edge", "--into", "./www", "--adopt", *UNTIL)
    assert tree(board.folder / "www") == tree(board.folder / "site") | {"mine": b"mine"}
    (board.folder / "site" / "index.html").unlink()
    board.run("publish", "./site")
    board.run("delete", "/blog")
    board.run("run", "subscriber", "edge", "--into", "./www", *UNTIL)  # it need not be said again
    assert tree(board.folder / "www") == {"mine": b"mine"}
    running = board.start("run", "subscriber", "edge", "--into", "./www")
    board.until("edge", lambda row: row["state"] == "idle" and row["lag_packages"] == 0)
    assert "1 entry, 0 differences" in board.out("verify", "edge")
    running.terminate()
    assert running.wait(60) == 0


def test_replacing_content_asks_first_and_says_how_much_is_removed(board):
    replace = ("run", "subscriber", "edge", "--into", "./www", "--replace", *UNTIL)
    output = board.refused(*replace)
    assert "2 files and 0 folders, 17 B: '/index.html', '/mine'. Remove all of it?" in output
    assert tree(board.folder / "www").keys() == {"mine", "index.html"}
    assert "removing what" in board.run(*replace, "--yes").stderr
    assert tree(board.folder / "www") == tree(board.folder / "site")
    (board.folder / "www" / "mine").write_text("again")
    assert "removing" not in board.run(*replace).stderr  # it has a ledger now, so there is nothing to ask about


def test_a_file_of_another_program_is_refused_as_a_target(board):
    with sqlite3.connect(board.folder / "theirs.db") as theirs:
        theirs.execute("CREATE TABLE entries (theirs)")
    theirs.close()
    (board.folder / "notes.db").write_text("not a database")
    before = tree(board.folder)
    for into in ("theirs.db", "notes.db"):
        for more in (("--adopt",), ("--replace", "--yes")):
            assert "is left as it is" in board.refused("run", "subscriber", "edge", "--into", into, *more, *UNTIL)
    assert tree(board.folder) == before
    (board.folder / "empty.db").touch()
    board.run("run", "subscriber", "edge", "--into", "empty.db", *UNTIL)


def test_a_target_that_lost_its_ledger_is_not_taken_for_a_new_one(board):
    board.run("run", "subscriber", "edge", "--into", "./out", *UNTIL)
    for file in sorted((board.folder / "out" / ".callboard").rglob("*"), reverse=True):
        file.rmdir() if file.is_dir() else file.unlink()
    assert "--replace" in board.refused("run", "subscriber", "edge", "--into", "./out", *UNTIL)
    board.run("run", "subscriber", "edge", "--into", "./out", "--replace", "--yes", *UNTIL)
    assert tree(board.folder / "out") == tree(board.folder / "site")


def test_other_commands_also_refuse_a_foreign_folder(board):
    before = sorted((board.folder / "www").rglob("*"))
    board.run("run", "subscriber", "edge", "--into", "./out", *UNTIL)
    assert "did not put there" in board.refused("seed", "two", "--into", "./www", "--from-repository", "./out")
    assert "no subscriber ever imported" in board.refused("snapshot", "./www", "--to", "taken")
    assert "no subscriber ever imported" in board.refused("reset", "./www", "--yes")
    assert "no subscriber ever imported" in board.refused("seed", "two", "--into", "./x", "--from-repository", "./www")
    assert sorted((board.folder / "www").rglob("*")) == before


def test_a_configured_target_is_not_shipped(board):
    (board.folder / "callboard.toml").write_text('[subscribers.edge]\ninto = "./site/out"\n')
    assert "a subscriber imports into" in board.refused("publish", "./site")
    assert "a subscriber imports into" in board.refused("run", "publisher", "--from", "./site")
