"""A command with an unknown name does not succeed silently."""

import asyncio

import pytest

from callboard import Callboard, RequestRefused
from tests.refused import refused


@pytest.fixture
def board(terminal):
    """A board with the publisher main and the subscriber edge-1."""
    terminal.run("init")
    terminal.run("publish", "./site")
    terminal.run("run", "subscriber", "edge-1", "--into", "./out", "--until-caught-up")
    return terminal


def test_a_misspelt_name_is_refused_with_a_suggestion(board):
    for words in (
        ("publish", "./site", "--to", "edge-l"),
        ("delete", "/blog", "--to", "edge-l"),
        ("invalidate", "/blog", "--to", "edge-l"),
        ("test", "--to", "edge-l"),
        ("log", "resend", "1", "--to", "edge-l"),
        ("queue", "edge-l"),
        ("errors", "edge-l"),
        ("clear", "edge-l", "--yes"),
        ("retry", "edge-l"),
        ("skip", "edge-l", "--reason", "x"),
        ("pause", "edge-l"),
        ("explain", "edge-l", "/"),
        ("verify", "edge-l"),
        ("forget", "edge-l"),
        ("run", "subscriber", "edge-2", "--into", "./two", "--golden", "edge-l"),
    ):
        assert "no subscriber 'edge-l' was ever heard of on this log; did you mean 'edge-1'?" in board.refused(*words)
    for words in (
        ("queue", "edge-1", "--publisher", "mian"),
        ("errors", "--publisher", "mian"),
        ("clear", "edge-1", "--publisher", "mian", "--yes"),
        ("clear", "--all-editable", "--publisher", "mian", "--yes"),
        ("publisher-log", "mian"),
        ("events", "--publisher", "mian"),
        ("run", "subscriber", "edge-2", "--into", "./two", "--follow", "mian"),
    ):
        assert "no publisher 'mian' was ever heard of on this log; did you mean 'main'?" in board.refused(*words)
    assert "known: edge-1" in board.refused("queue", "zzz")
    assert "the log ends at offset 2" in board.refused(
        "run", "subscriber", "edge-2", "--into", "./two", "--start", "999"
    )
    output = board.run("publish", "./site", "--at", "/x", "--publisher", "mian").stderr
    assert "publisher 'mian' is new on this log; did you mean 'main'?" in output


def test_a_name_can_be_expected_before_it_is_announced(board):
    done = board.run("publish", "./site", "/blog", "--to", "edge-2", "--expect", "--json")
    assert '"edge-2"' in done.stdout.partition('"expects"')[2]
    assert "not heard of yet: edge-2" in done.stderr
    words = ("run", "subscriber", "edge-2", "--into", "./two", "--follow", "later", "--golden", "gold")
    assert "If it starts later, add --expect" in board.refused(*words)
    edge = board.start(*words, "--expect", said="edge-2.log")
    board.until("edge-2", lambda row: row["follows"] == ["later"])
    edge.terminate()
    edge.wait()
    board.start(*words, said="edge-2.log")  # it said so once: a restart is never refused
    board.until("edge-2", lambda row: row["liveness"] == "live")
    (board.folder / "callboard.toml").write_text('[subscriber]\nfollows = ["later", "never"]\nexpect = true\n')
    board.run("run", "subscriber", "edge-3", "--into", "./three", "--until-caught-up")


def test_a_service_gets_the_same_error_for_a_misspelt_name(board):
    async def work() -> None:
        async with Callboard("sqlite:///./board.db", base=board.folder) as it:
            main = it.publisher()
            with pytest.raises(RequestRefused, match="did you mean 'edge-1'"):
                await main.publish("./site", ["/blog"], recipients=["edge-1", "edge-l"])
            assert (await main.publish("./site", ["/blog"], recipients=["edge-1"])).expects == ()
            expected = await main.delete(["/blog"], recipients=["edge-l"], expect=True)
            assert expected.expects == ("edge-l",)
            for options in ({"follows": ["mian"]}, {"golden": "edge-l"}, {"start": 999}):
                with pytest.raises(RequestRefused):
                    await it.subscriber("edge-2", "./two", **options).start()
            with refused("out_of_range"):
                await it.subscriber("edge-2", "./two", start=999, expect=True).start()
            for asking in (it.cohorts("mian"), it.errors("edge-l"), it.queue("edge-1", "mian"), it.clear_all("mian")):
                with pytest.raises(RequestRefused, match="did you mean"):
                    await asking

    asyncio.run(work())
    assert not (board.folder / "two").exists()
