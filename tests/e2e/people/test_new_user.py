"""The first ten minutes with callboard."""

from pathlib import Path

import pytest


def tree(folder: Path) -> dict[str, str]:
    return {
        path.relative_to(folder).as_posix(): path.read_text()
        for path in sorted(folder.rglob("*"))
        if path.is_file() and ".callboard" not in path.parts
    }


@pytest.mark.proves("W21")
def test_a_site_travels_from_a_publisher_to_a_subscriber(newcomer):
    terminal = newcomer
    assert "publish" in terminal.out("init")
    published = terminal.json("publish", "./site")
    assert (published["kind"], published["entries"], published["publisher"]) == ("ADD", 4, "main")
    out = terminal.out("run", "subscriber", "edge-1", "--into", "./out", "--until-caught-up")
    assert f"caught up, at offset {published['offset']}" in out
    assert tree(terminal.folder / "out") == tree(terminal.folder / "site")

    status = terminal.json("status")["subscribers"][0]
    assert (status["name"], status["lag_packages"], status["imported"]) == ("edge-1", 0, 1)
    assert "edge-1" in terminal.out("status")
    assert "empty" in terminal.out("queue", "edge-1")

    deleted = terminal.json("delete", "/blog/a.html")
    assert [package["paths"] for package in terminal.json("queue", "edge-1")["items"]] == [["/blog/a.html"]]
    assert "DELETE" in terminal.out("queue", "edge-1")
    listed = terminal.json("log", "list")["items"]
    assert [record["offset"] for record in listed] == [published["offset"], deleted["offset"]]
    assert "DELETE /blog/a.html" in terminal.out("log", "list")

    terminal.run("run", "subscriber", "edge-1", "--into", "./out", "--until-caught-up")
    assert tree(terminal.folder / "out") == {"index.html": "welcome to the theatre"}


def test_publishing_can_create_the_board_and_a_request_id_makes_a_retry_harmless(newcomer):
    terminal = newcomer
    words = ("publish", "./site", "/blog", "--shallow", "--publisher", "site", "--request-id", "r1")
    first = terminal.json(*words, "--create")
    assert (first["publisher"], first["paths"], first["entries"]) == ("site", ["/blog"], 1)
    assert terminal.json(*words) == first


def test_a_record_shows_its_headers_its_message_and_what_is_in_the_package(terminal):
    package = terminal.json("publish", "./site")
    record = terminal.json("log", "show", str(package["offset"]))
    assert record["headers"]["type"] == "PackageMessage"
    assert record["message"]["package_id"] == package["id"]
    assert [entry["path"] for entry in record["entries"]] == ["/", "/blog", "/blog/a.html", "/index.html"]
    assert "/blog/a.html" in terminal.out("log", "show", str(package["offset"]))
    assert "choose an offset" in terminal.refused("log", "show", "77")


def test_the_doctor_shows_where_settings_come_from_and_what_is_wrong(terminal):
    terminal.run("init")
    (terminal.folder / "callboard.toml").write_text('[publisher]\nname = "site"\n')
    found = terminal.run("doctor", "--json", CALLBOARD_SUBSCRIBER__MAX_RETRIES="3").stdout
    assert '"origin": "callboard.toml:2"' in found
    assert '"origin": "CALLBOARD_SUBSCRIBER__MAX_RETRIES"' in found
    assert "everything is as it should be" in terminal.out("doctor")
    output = terminal.run("doctor", "--blobs", "./site/index.html", code=1).stdout
    assert "index.html is a file\n  fix: choose a path that is a folder" in output
    assert "did you mean CALLBOARD_LOG?" in terminal.run("doctor", code=2, CALLBOARD_LGO="x").stderr


def test_log_trim_shows_what_it_will_remove_and_asks_for_a_yes(terminal):
    offsets = [terminal.json("publish", "./site", "--full")["offset"] for _ in range(2)]
    plan = terminal.json("log", "trim", "--below", str(offsets[1]), "--dry-run")
    assert [(removal["records"], removal["first"]) for removal in plan] == [(1, offsets[1])]
    assert "--yes" in terminal.refused("log", "trim", "--below", str(offsets[1]))
    assert len(terminal.json("log", "list")["items"]) == 2
    terminal.run("log", "trim", "--below", str(offsets[1]), "--yes")
    assert [record["offset"] for record in terminal.json("log", "list")["items"]] == offsets[1:]
