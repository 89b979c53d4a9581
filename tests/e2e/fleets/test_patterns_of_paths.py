"""A subscriber that imports only some paths, and a publisher that ships only some, at the command line."""

from pathlib import Path


def tree(folder: Path) -> set[str]:
    return {
        path.relative_to(folder).as_posix()
        for path in folder.rglob("*")
        if path.is_file() and ".callboard" not in path.parts
    }


def test_a_subscriber_imports_only_what_its_patterns_admit_and_verify_knows_that(terminal):
    site, out = terminal.folder / "site", terminal.folder / "out"
    (site / "blog" / "film.mp4").write_text("a film")
    (site / "img").mkdir()
    (site / "img" / "logo.png").write_text("a logo")
    words = ("run", "subscriber", "edge-1", "--into", "./out", "--include", "/blog", "--exclude", "*.mp4")
    terminal.run("init")
    terminal.run("publish", "./site")
    assert "caught up" in terminal.out(*words, "--until-caught-up")
    assert tree(out) == {"blog/a.html"}
    (out / "notes.txt").write_text("mine")
    terminal.run("publish", "./site", "--full", "/img")  # nothing of it is for edge-1
    terminal.run("delete", "/index.html")
    (site / "blog" / "a.html").rename(site / "blog" / "b.html")
    terminal.run("publish", "./site")
    edge = terminal.start(*words, said="edge-1.log")
    row = terminal.until("edge-1", lambda row: row["state"] == "idle" and row["lag_packages"] == 0)
    assert (row["errors"], row["held"]) == (0, 0)
    assert tree(out) == {"blog/b.html", "notes.txt"}

    found = terminal.json("verify", "edge-1")
    assert (found["differences"], found["unknown"]) == ([], 1)
    (out / "blog" / "b.html").write_text("altered")
    assert terminal.run("verify", "edge-1", code=1).stdout.count("differs") == 1
    terminal.run("repair", "edge-1")
    terminal.until("edge-1", lambda row: row["lag_packages"] == 0)
    assert (out / "blog" / "b.html").read_text() == "the first night"
    assert "leave this path out" in terminal.out("explain", "edge-1", "/img/logo.png")
    assert "brought it" in terminal.out("explain", "edge-1", "/blog/b.html")
    assert "leave this path out" in terminal.out("explain", "edge-1", "/blog/film.mp4")
    terminal.run("delete", "/", "--replace-root")
    terminal.until("edge-1", lambda row: row["lag_packages"] == 0)
    assert tree(out) == {"notes.txt"}
    edge.terminate()


def test_a_publisher_ships_what_its_patterns_admit(terminal):
    (terminal.folder / "site" / "blog" / "draft.txt").write_text("not yet")
    (terminal.folder / "callboard.toml").write_text(
        '[publisher]\ninclude = ["*.html"]\nexclude = ["/index.*"]\n[subscriber]\ninclude = ["/blog/**"]\n'
    )
    package = terminal.json("publish", "./site")
    record = terminal.json("log", "show", str(package["offset"]))
    assert [entry["path"] for entry in record["entries"]] == ["/", "/blog", "/blog/a.html"]
    assert "not selected by include and exclude" in terminal.refused("publish", "./site", "/blog/draft.txt")
    assert "not selected by include and exclude" in terminal.refused("publish", "./site", "/index.html")
    terminal.run("run", "subscriber", "edge-1", "--into", "./out", "--until-caught-up")
    assert tree(terminal.folder / "out") == {"blog/a.html"}


def test_an_invalid_pattern_is_refused(terminal):
    terminal.run("init")
    for pattern in ("", "/", "/a//b", "/a/../b", "x" * 201):
        words = ("run", "subscriber", "edge-1", "--into", "./out", "--include", pattern)
        assert "pattern" in terminal.refused(*words)
