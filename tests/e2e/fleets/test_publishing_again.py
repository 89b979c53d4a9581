"""``callboard publish`` of a folder that was published before sends what changed, and says what it left out."""

import pytest

from tests.e2e.conftest import Terminal

SUBSCRIBER = ("run", "subscriber", "edge-1", "--into", "out")


@pytest.mark.proves("P1")
def test_a_folder_is_published_again_and_subscribers_get_what_changed(terminal: Terminal) -> None:
    site, out = terminal.folder / "site", terminal.folder / "out"
    for name in ("a.html", "blog/b.html", "blog/c.html"):
        (site / name).write_text(f"first {name}")
    terminal.out("publish", "./site")
    terminal.start(*SUBSCRIBER)
    terminal.until("edge-1", lambda row: row["offset"] == 1)
    before = (out / "a.html").stat()
    (site / "blog" / "b.html").write_text("second")
    (site / "blog" / "c.html").unlink()
    (site / "d.html").write_text("new")

    said = terminal.out("publish", "./site", "--wait", "60")

    assert "is at offset 2, 4 entries" in said
    assert "removed: 1 path; unchanged: " in said
    assert {each.name for each in out.rglob("*.html")} == {"a.html", "b.html", "d.html"} | {
        each.name for each in site.rglob("*.html")
    }
    assert (out / "blog" / "b.html").read_text() == "second"
    assert (out / "a.html").stat() == before, "it was not touched"

    again = terminal.run("publish", "./site", "--wait", "60")
    assert again.stdout.startswith("nothing was shipped: nothing differs from what the log has, at offset 2 (")
    data = terminal.json("publish", "./site")
    assert (data["state"], data["offset"], data["whole"]) == ("unchanged", 2, "")
    assert data["unchanged_files"] == len([each for each in site.rglob("*") if each.is_file()])
    assert "is at offset 3" in terminal.out("publish", "./site", "--full")


def test_a_subscriber_that_was_altered_by_hand_is_repaired_by_all_of_it(terminal: Terminal) -> None:
    (terminal.folder / "site" / "a.html").write_text("a")
    for words in (("publish", "./site"), (*SUBSCRIBER, "--until-caught-up")):
        terminal.out(*words)
    (terminal.folder / "out" / "a.html").write_text("by hand")
    for words in (("publish", "./site"), (*SUBSCRIBER, "--until-caught-up")):
        terminal.out(*words)
    assert (terminal.folder / "out" / "a.html").read_text() == "by hand"
    for last in (("publish", "./site", "--full"), (*SUBSCRIBER, "--until-caught-up")):
        terminal.out(*last)
    assert (terminal.folder / "out" / "a.html").read_text() == "a"


def test_the_answer_says_why_all_was_sent(terminal: Terminal) -> None:
    terminal.out("publish", "./site")
    terminal.out("publish", "./site", "--to", "edge-1", "--expect")
    said = terminal.run("publish", "./site").stderr
    assert "all of it was sent: offset 2 is for edge-1 alone" in said
