"""``callboard explain`` at the command line."""

import pytest


@pytest.mark.proves("W28")
def test_a_path_is_explained_by_the_packages_that_brought_it_and_that_are_queued(terminal):
    first = terminal.json("publish", "./site")["offset"]
    terminal.run("run", "subscriber", "edge-1", "--into", "./out", "--until-caught-up")
    second = terminal.json("delete", "/blog/a.html")["offset"]
    found = terminal.json("explain", "edge-1", "/blog/a.html")
    assert (found["brought"]["offset"], [each["offset"] for each in found["newer"]]) == (first, [second])
    output = terminal.out("explain", "edge-1", "/blog/a.html").splitlines()
    assert output[0].startswith(f"offset {first}, ADD of main by ")
    assert "brought it: file" in output[0]
    assert output[1].endswith("the subscriber is stopped")
    terminal.run("run", "subscriber", "edge-1", "--into", "./out", "--until-caught-up")
    assert terminal.json("explain", "edge-1", "/blog/a.html")["brought"]["fate"] == "removed it"
    assert "was ever heard of" in terminal.refused("explain", "edge-9", "/blog")
    assert "is not absolute" in terminal.refused("explain", "edge-1", "blog")
