"""Sizes at the command line: how much a subscriber has to fetch of the packages for it."""



def test_a_large_file_has_the_same_size_in_every_view(terminal):
    (terminal.folder / "site" / "film").write_bytes(b"\0" * 3_000_000)
    output = terminal.out("publish", "./site", "/film")
    assert "3.0 MB" in output
    package = terminal.json("publish", "./site", "/film")
    terminal.run("run", "subscriber", "edge-1", "--into", "./out", "--until-caught-up")
    assert (terminal.folder / "out" / "film").stat().st_size == 3_000_000
    (terminal.folder / "site" / "film").write_bytes(b"\1" * 3_000_000)
    package = terminal.json("publish", "./site", "/film")
    assert 3_000_000 < package["length"] < 3_001_000
    assert "3.0 MB" in terminal.out("status")
    assert "3.0 MB" in terminal.out("queue", "edge-1")
    assert "3.0 MB" in terminal.out("log", "list")
    [row] = terminal.json("status")["subscribers"]
    [queued] = terminal.json("queue", "edge-1")["items"]
    assert row["lag_bytes"] == queued["length"] == package["length"]
    metrics = terminal.out("metrics")
    [line] = [line for line in metrics.splitlines() if line.startswith("callboard_subscriber_lag_bytes{")]
    assert float(line.split()[-1]) == package["length"]


def test_packages_for_another_subscriber_are_neither_queued_nor_cleared(terminal):
    terminal.run("publish", "./site")
    for name in ("edge-1", "edge-2"):
        terminal.run("run", "subscriber", name, "--into", f"./{name}", "--editable", "--until-caught-up")
    for _ in range(3):
        terminal.run("publish", "./site", "/blog", "--to", "edge-2", "--expect")
    mine = [terminal.json("publish", "./site", "--full", "/index.html")["offset"] for _ in range(2)]
    rows = {row["name"]: row["lag_packages"] for row in terminal.json("status")["subscribers"]}
    assert rows == {"edge-1": 2, "edge-2": 5}
    assert [each["offset"] for each in terminal.json("queue", "edge-1")["items"]] == mine
    cleared = terminal.json("clear", "edge-1", "--first", "1", "--yes", code=1)
    assert cleared["offset"] == mine[0], "it is stopped, and carries the command out later"
