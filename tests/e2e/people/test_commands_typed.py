"""Commands as an operator types them, to a subscriber whose actors are processes of their own."""



def test_an_operator_can_pause_skip_retry_and_resume_a_subscriber_in_processes(terminal):
    terminal.run("publish", "./site")
    terminal.start("run", "subscriber", "edge-1", "--into", "./out", "--editable", "--runtime", "processes")
    terminal.until("edge-1", lambda row: row["state"] == "idle" and row["imported"] == 1)

    shown = terminal.out("pause", "edge-1", "--reason", "maintenance", "--author", "ann")
    assert "edge-1 is paused" in shown
    again = terminal.run("pause", "edge-1", code=2)
    assert "refused by edge-1: it is paused by ann: maintenance" in again.stderr
    offset = terminal.json("publish", "./site", "--full", "/blog")["offset"]
    row = terminal.until("edge-1", lambda row: row["state"] == "paused" and row["lag_packages"] == 1)
    assert row["reason"] == "paused by ann: maintenance; callboard resume edge-1"

    skipped = terminal.json("skip", "edge-1", str(offset), "--reason", "not now")
    assert (skipped["accepted"], skipped["packages"], skipped["offset"]) == (True, 1, offset)
    refused = terminal.json("retry", "edge-1", code=2)
    reason = "no package is at the head of the queue, so there is nothing to retry"
    assert (refused["accepted"], refused["reason"]) == (False, reason)
    assert terminal.json("throttle", "edge-1", "600")["accepted"] is True
    assert terminal.json("resume", "edge-1")["accepted"] is True
    terminal.until("edge-1", lambda row: row["state"] == "idle" and row["offset"] == offset)
    assert "skipped by" in terminal.out("log", "list", "--topic", "status")


def test_a_command_to_an_unknown_or_stopped_subscriber_says_so(terminal):
    terminal.run("publish", "./site")
    refusal = terminal.refused("pause", "edge-9")
    assert "no subscriber 'edge-9' was ever heard of" in refusal
    assert "With --force, the command waits for it to start" in refusal
    assert "it gets the command when it starts" in terminal.run("pause", "edge-9", "--force", code=1).stderr
    terminal.run("run", "subscriber", "edge-1", "--into", "./out", "--until-caught-up")
    assert "edge-1 is stopped" in terminal.run("pause", "edge-1", code=1).stderr
    terminal.start("run", "subscriber", "edge-1", "--into", "./out")
    terminal.until("edge-1", lambda row: row["state"] == "paused" and row["liveness"] == "live")


def test_commands_are_signed_with_the_configured_key(terminal):
    (terminal.folder / "ops.key").write_text("0123456789abcdef0123456789abcdef\n")
    (terminal.folder / "ops.key").chmod(0o600)
    keys = 'signing_key = "ops=./ops.key"\ntrusted_keys = ["ops=./ops.key"]\n[subscriber]\ninto = "./out"\n'
    (terminal.folder / "callboard.toml").write_text(keys)
    terminal.run("publish", "./site")
    terminal.start("run", "subscriber", "edge-1")
    terminal.until("edge-1", lambda row: row["imported"] == 1)
    assert terminal.json("pause", "edge-1")["accepted"] is True
    unsigned = terminal.run("resume", "edge-1", "--log", "sqlite:///./board.db", code=2, CALLBOARD_SIGNING_KEY="x=./no")
    assert "the file of key 'x' cannot be read" in unsigned.stderr
    (terminal.folder / "other.toml").write_text('log = "sqlite:///./board.db"\n')
    unsigned = terminal.run("resume", "edge-1", "--config", "other.toml", code=2)
    assert "it is not signed" in unsigned.stderr
    output = terminal.run("doctor", code=1).stdout
    assert "problem: signatures: topic callboard.command: 1 record does not count, the newest at offset 2" in output
    assert "it is not signed" in terminal.out("log", "list", "--topic", "command")
    assert 'callboard_untrusted_records_total{topic="callboard.command"} 1' in terminal.out("metrics")
    for words, code in ((("doctor",), 1), (("status",), 0), (("log", "list", "--topic", "command"), 0)):
        shown = terminal.run(*words, code=code)
        assert "0123456789abcdef" not in shown.stdout + shown.stderr


def test_a_staged_subscriber_in_processes_waits_for_the_golden_one(terminal):
    first = terminal.json("publish", "./site")["offset"]
    words = ("run", "subscriber", "edge-1", "--into", "./out", "--golden", "edge-0", "--expect")
    terminal.start(*words, "--runtime", "processes")
    row = terminal.until("edge-1", lambda row: row["state"] == "staged" and "never heard of" in row["reason"])
    assert f"waits for edge-0's verdict on offset {first}" in row["reason"]
    terminal.run("run", "subscriber", "edge-0", "--into", "./golden", "--editable", "--until-caught-up")
    terminal.until("edge-1", lambda row: row["imported"] == 1)
    second = terminal.json("publish", "./site", "--full", "/blog")["offset"]
    row = terminal.until("edge-1", lambda row: row["state"] == "staged" and f"offset {second}" in row["reason"])
    assert f"edge-0 is stopped at offset {first}" in row["reason"]
    assert terminal.json("retry", "edge-1", "--without-golden")["packages"] == 1
    terminal.until("edge-1", lambda row: row["imported"] == 2 and row["state"] == "idle")
