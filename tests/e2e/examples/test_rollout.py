"""A model that the canary refuses reaches no server, and without the canary nothing does."""

import json
from collections.abc import Callable

from tests.e2e.examples.reader import Reader


def test_a_bad_model_stays_off_the_servers(reader: Callable[[str], Reader]) -> None:
    its = reader("rollout")
    its.run("callboard", "init")
    canary = its.start("callboard", "run", "subscriber", "canary")
    its.start("callboard", "run", "subscriber", "server-1", "--into", "servers/server-1")
    its.start("callboard", "run", "subscriber", "server-2", "--into", "servers/server-2")
    servers = [its.folder / "servers" / name for name in ("server-1", "server-2")]

    assert "accepted by the canary" in its.run("python", "release.py", "good.json")
    its.until(lambda: all((server / "current.json").exists() for server in servers))
    assert its.run("python", "ask.py", "server-2", "win", "money") == "good: spam\n"
    assert its.run("python", "ask.py", "server-2", "lunch", "at", "noon") == "good: no spam\n"

    refused = its.run("python", "release.py", "bad.json", code=1)
    assert "refused: " in refused
    assert "bad is right in 25% of the samples" in refused
    its.until(lambda: all((server / "models" / "bad.json").exists() for server in servers))
    (its.folder / "broken.json").write_text("no JSON")
    assert "JSONDecodeError" in its.run("python", "release.py", "broken.json", code=1)
    status = its.until(lambda: all_are_past(its, 6))
    assert {row["name"]: row["skipped"] for row in status} == {"canary": 0, "server-1": 2, "server-2": 2}
    assert {json.loads((server / "current.json").read_text())["model"] for server in servers} == {"good"}

    canary.kill()
    canary.wait()
    its.start("python", "release.py", "good.json")
    waiting = its.until(lambda: [row for row in rows(its) if row["state"] == "staged"])
    assert "waits for canary's verdict on offset 7" in waiting[0]["reason"]


def rows(its: Reader) -> list[dict[str, object]]:
    """The subscribers, as ``callboard status`` shows them."""
    found: list[dict[str, object]] = json.loads(its.run("callboard", "status", "--json"))["data"]["subscribers"]
    return found


def all_are_past(its: Reader, offset: int) -> list[dict[str, object]]:
    """The subscribers, if all of them have processed this offset."""
    found = rows(its)
    return found if all(row["offset"] == offset for row in found) else []
