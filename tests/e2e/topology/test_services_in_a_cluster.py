"""Publishers and subscribers as members of the cluster of their board."""

import signal
import time
from collections.abc import Callable

from tests.e2e.conftest import DEADLINE_S, POLL_S, Terminal


def until(condition: Callable[[], bool]) -> None:
    deadline = time.monotonic() + DEADLINE_S
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(POLL_S)


def members(terminal: Terminal) -> set[str]:
    """The ids of the members, once all of them agree."""
    view = terminal.json("topology")
    return {each["instance"] for each in view["members"]} if view["condition"] == "settled" else set()


def test_services_join_the_cluster_under_their_ids_and_leave_it_when_they_stop(terminal):
    terminal.run("publish", "./site")
    publisher = terminal.start("run", "publisher", "main", "--member", "pub-1")
    terminal.start("run", "subscriber", "edge-1", "--into", "./out", "--member", "edge-1", "--runtime", "processes")
    until(lambda: members(terminal) == {"pub-1", "edge-1"})
    publisher.send_signal(signal.SIGTERM)
    _, output = publisher.communicate(timeout=DEADLINE_S)
    assert publisher.returncode == 0, output
    assert members(terminal) == {"edge-1"}
    until((terminal.folder / "out" / "index.html").exists)


def test_a_service_under_the_id_of_another_one_says_so_and_goes_on_distributing(terminal):
    terminal.run("publish", "./site")
    terminal.start("run", "subscriber", "edge-1", "--into", "./out", "--member", "one")
    until(lambda: members(terminal) == {"one"})
    terminal.start("run", "subscriber", "edge-2", "--into", "./out-2", "--member", "one", said="second.txt")
    until(lambda: "member.ended" in (terminal.folder / "second.txt").read_text())
    assert "two processes run as one" in (terminal.folder / "second.txt").read_text()
    terminal.run("publish", "./site/blog", "--at", "/more")
    terminal.until("edge-2", lambda row: row["imported"] == 2)
    assert members(terminal) == {"one"}


def test_an_id_that_no_member_can_have_is_refused(terminal):
    terminal.run("publish", "./site")
    for wrong, why in (("a b", "--member: member.instance is 'a b', but should be 1 to 100 of"), ("", "it is empty")):
        assert why in terminal.refused("run", "subscriber", "edge-1", "--into", "./out", "--member", wrong)
