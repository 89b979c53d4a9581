"""Browsing the log, exporting content, and resending a package, at the command line."""

import json
import tarfile

import pytest


@pytest.fixture
def published(terminal):
    """Five packages: the site, a part of it, a removal, and the same of another publisher, with a large file."""
    site = terminal.folder / "site"
    (site / "large.bin").write_bytes(b"large" * 50_000)
    (site / "link").symlink_to("index.html")
    return [
        terminal.json("publish", "./site")["offset"],
        terminal.json("publish", "./site", "--full", "/blog")["offset"],
        terminal.json("delete", "/blog/a.html")["offset"],
        terminal.json("publish", "./site", "/index.html", "--publisher", "news")["offset"],
        terminal.json("publish", "./site", "--full", "/large.bin")["offset"],
    ]


def offsets(terminal, *words: str) -> list[int]:
    return [record["offset"] for record in terminal.json("log", *words)["items"]]


@pytest.mark.proves("F102", "W28")
def test_records_are_listed_and_found_by_their_properties(terminal, published):
    _, two, three, four, five = published
    assert offsets(terminal, "list", "--limit", "2") == [four, five]
    cursor = terminal.json("log", "list", "--limit", "2")["cursor"]
    assert offsets(terminal, "list", "--limit", "2", "--after", cursor) == [two, three]
    assert f"there is more: --after {cursor}" in terminal.out("log", "list", "--limit", "2")
    assert offsets(terminal, "list", "--from", str(two), "--limit", "2") == [two, three]
    assert offsets(terminal, "list", "--publisher", "news") == [four]
    assert offsets(terminal, "list", "--kind", "delete") == [three]
    assert offsets(terminal, "list", "--path", "/blog*") == [two, three]
    assert offsets(terminal, "list", "--since", "1h") == published
    assert offsets(terminal, "list", "--until", "1h") == []
    assert offsets(terminal, "grep", r"a\.html$") == [three]
    assert "regular expression" in terminal.refused("log", "grep", "(")
    assert "write an age" in terminal.refused("log", "list", "--since", "soon")
    assert terminal.out("log", "grep", "nowhere") == "no such records on topic package\n"


@pytest.mark.proves("W28", "F102")
def test_the_content_of_a_package_is_exported_from_the_log(terminal, published):
    terminal.run("log", "export", str(published[0]), "./found")
    found = terminal.folder / "found"
    assert sorted(path.name for path in found.rglob("*")) == ["a.html", "blog", "index.html", "large.bin", "link"]
    assert (found / "large.bin").read_bytes() == b"large" * 50_000
    assert (found / "link").readlink().name == "index.html"
    assert "already exists" in terminal.refused("log", "export", str(published[0]), "./found")
    terminal.run("log", "export", str(published[1]), "found.tar")
    with tarfile.open(terminal.folder / "found.tar") as tar:
        assert [member.name for member in tar] == ["blog", "blog/a.html"]
        assert tar.extractfile("blog/a.html").read() == b"the first night"
    assert "has no content" in terminal.refused("log", "export", str(published[2]), "./nothing")
    assert "holds [" in terminal.refused("log", "export", "999", "./nothing")
    assert not (terminal.folder / "nothing").exists()


def test_a_package_with_damaged_content_is_not_exported(terminal, published):
    [blob] = [file for file in (terminal.folder / "board.db" / "blobs").rglob("*") if len(file.name) == 62]
    blob.chmod(0o644)
    blob.write_bytes(b"x" * blob.stat().st_size)
    for target in ("found", "found.tar"):
        terminal.refused("log", "export", str(published[4]), target, code=4)
        assert not (terminal.folder / target).is_file()
    blob.unlink()
    terminal.refused("log", "export", str(published[4]), "gone.tar", code=4)
    assert not list(terminal.folder.glob("*.tar*"))


@pytest.mark.proves("W28")
def test_records_are_printed_as_lines_of_json(terminal, published):
    terminal.run("log", "export", "--ndjson", "log.ndjson")
    lines = [json.loads(line) for line in (terminal.folder / "log.ndjson").read_text().splitlines()]
    assert [line["offset"] for line in lines] == published
    assert lines[2]["message"]["paths"] == ["/blog/a.html"]
    assert "choose a new file" in terminal.refused("log", "export", "--ndjson", "log.ndjson")
    printed = terminal.run("log", "export", "--ndjson", "-", "--publisher", "news").stdout
    assert json.loads(printed)["offset"] == published[3]
    assert "--ndjson" in terminal.refused("log", "export", "1")


@pytest.mark.proves("W28")
def test_a_package_is_resent_to_all_subscribers(terminal, published):
    output = terminal.refused("log", "resend", str(published[0]))
    assert f"offsets {', '.join(map(str, published[1:]))}, touch" in output
    terminal.run("run", "subscriber", "edge-1", "--into", "./out", "--until-caught-up")
    assert not (terminal.folder / "out" / "blog" / "a.html").exists()
    again = terminal.json("log", "resend", str(published[1]), "--force", "--request-id", "x")
    assert terminal.json("log", "resend", str(published[1]), "--force", "--request-id", "x") == again
    terminal.run("run", "subscriber", "edge-1", "--into", "./out", "--until-caught-up")
    assert (terminal.folder / "out" / "blog" / "a.html").read_text() == "the first night"
    shown = terminal.json("log", "show", str(again["offset"]))
    assert shown["headers"]["cause"] == terminal.json("log", "show", str(published[1]))["headers"]["id"]
