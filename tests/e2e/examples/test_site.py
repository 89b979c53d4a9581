"""Pages that are saved in the content service are on every edge, which are ready when they have them all."""

import sys
from collections.abc import Callable

import httpx

from callboard.testing.servers.network import free_port
from tests.e2e.examples.reader import DEADLINE_S, Reader, status, text


def test_an_edge_that_was_killed_is_ready_again_when_it_has_what_was_saved_meanwhile(
    reader: Callable[[str], Reader],
) -> None:
    its = reader("site")
    cms, _ = its.serve("cms:app", "/edges")
    httpx.put(f"{cms}/pages/home", content="<h1>Hello</h1>", headers={"Content-Type": "text/html"}).raise_for_status()
    paris, process = its.serve("edge:app", "/ready", EDGE="paris")
    its.until(lambda: status(f"{paris}/ready") == 200)
    assert text(f"{paris}/home") == "<h1>Hello</h1>"
    assert status(f"{paris}/none") == 404
    assert status(f"{paris}/.callboard") == 422

    process.kill()
    process.wait()
    for number in range(3):
        httpx.put(f"{cms}/pages/page-{number}", content=f"{number}").raise_for_status()
    httpx.delete(f"{cms}/pages/home").raise_for_status()
    paris, _ = its.serve("edge:app", "/ready", EDGE="paris")
    its.until(lambda: status(f"{paris}/ready") == 200)
    assert [text(f"{paris}/page-{number}") for number in range(3)] == ["0", "1", "2"]
    assert status(f"{paris}/home") == 404
    [row] = httpx.get(f"{cms}/edges", timeout=30).json()
    assert row == {"name": "paris", "live": True, "has_up_to": 5, "behind": 0, "troubles": []}


def test_a_second_edge_of_the_same_name_does_not_start(reader: Callable[[str], Reader]) -> None:
    its = reader("site")
    its.serve("edge:app", "/ready", EDGE="oslo")
    second = its.start(sys.executable, "-m", "uvicorn", "edge:app", "--port", str(free_port()), EDGE="oslo")
    assert second.wait(DEADLINE_S) == 3, "what uvicorn ends with if its service cannot start"
    assert "choose another repository" in its.said
