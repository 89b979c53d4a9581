"""Every kind of request from the command line, and the events that it leads to."""

import json


def test_requests_of_every_kind_are_reported_as_events(terminal):
    terminal.run("publish", "./site")
    terminal.start("run", "publisher", "--requests", "-")
    terminal.start("run", "subscriber", "edge-1", "--into", "./out")
    terminal.until("edge-1", lambda row: row["liveness"] == "live")
    assert "INVALIDATE" in terminal.out("invalidate", "/blog")
    assert "DELETE" in terminal.out("delete", "/blog", "--to", "edge-2", "--expect")
    last = terminal.json("test", "--wait", "60")
    assert terminal.json("log", "show", str(last["offset"] - 1))["message"]["recipients"] == ["edge-2"]
    assert (terminal.folder / "out" / "blog").exists(), "it was for another one"

    follower = terminal.start("events", "--follow", "--json", "--after", "-1")
    assert follower.stdout is not None
    events = [json.loads(follower.stdout.readline()) for _ in range(4)]
    assert [(event["kind"], event["request"]) for event in events] == [
        ("distributed", request) for request in ("ADD", "INVALIDATE", "DELETE", "TEST")
    ]
    assert "INVALIDATE /blog" in terminal.out("events")
    assert terminal.json("events", "--after", str(events[2]["position"])) == events[3:]
    assert terminal.json("events", "--kind", "failed") == []
    assert "no events 'lost'; choose among created" in terminal.refused("events", "--kind", "lost")
    assert "all subscribers have package" in terminal.out("publisher-log")
    assert "distributed" in terminal.out("log", "list", "--topic", "event")


def test_a_missing_path_is_not_shipped_and_a_package_too_large_is_refused(terminal):
    (terminal.folder / "empty").mkdir()
    assert "nothing was shipped: empty request" in terminal.run("publish", "./empty", code=1).stdout
    assert terminal.json("log", "list")["items"] == []
    (terminal.folder / "callboard.toml").write_text("[publisher]\nmax_package_mb = 0.00001\n")
    assert "more than max_package_mb = 1e-05" in terminal.refused("publish", "./site")
    requests = [{"kind": "add", "source": "./empty", "request_id": "1"}, {"kind": "pull", "request_id": "2"},
                {"kind": "test", "recipients": ["edge-1"], "expect": True, "metadata": {"a": "b"},
                 "request_id": "3"}]  # fmt: skip
    given = "".join(json.dumps(request) + "\n" for request in requests)
    done = terminal.run("run", "publisher", "--requests", "-", given=given)
    empty, pull, test = map(json.loads, done.stdout.splitlines())
    assert (empty["accepted"], empty["state"]) == (False, "dropped")
    assert "'add', 'delete', 'invalidate' or 'test'" in pull["reason"]
    assert (test["accepted"], test["state"]) == (True, "accepted")
    assert terminal.json("log", "show", str(test["offset"]))["message"]["metadata"] == [["a", "b"]]


def test_without_a_running_publisher_no_events_are_written_and_the_command_says_so(terminal):
    terminal.run("publish", "./site")
    terminal.run("run", "subscriber", "edge-1", "--into", "./out", "--until-caught-up")
    assert "no events; only a long-running publisher (`callboard run publisher`" in terminal.out("events")
    assert terminal.json("events") == []
