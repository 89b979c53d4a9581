"""The cluster at the command line: on every log, and as it is mistyped."""

import asyncio
import json
import re
from collections.abc import Callable
from pathlib import Path

import pytest

from callboard import Callboard
from callboard.actors.topology.reducer import fold
from callboard.messages.event import Event
from callboard.messages.headers import new_record
from callboard.messages.record import NewRecord
from callboard.messages.topics import control_topic
from callboard.messages.topology.cluster_state import EMPTY, ClusterSettings, ClusterState
from callboard.messages.topology.control_messages import AckMessage, AdminMessage, JoinMessage, ProposeMessage
from tests.e2e.conftest import Terminal

Says = Callable[[ClusterState], Event | NewRecord]


def by(instance: str, seq: int) -> dict[str, object]:
    return {"instance": instance, "incarnation": f"{instance}1", "seq": seq}


def acks(instance: str, seq: int) -> Says:
    return lambda state: AckMessage(**by(instance, seq), epoch=state.view.epoch, state_hash=state.view.state_hash)  # type: ignore[arg-type]


def write(folder: Path, log: str, *says: Says) -> list[int]:
    """Write what members and operators say, each with the state that they have read; returns the offsets."""

    async def work() -> list[int]:
        async with Callboard(log, base=folder, blobs="./blobs") as board:
            topic, state, offsets = control_topic(), EMPTY, []
            await board.log.ensure(topic)
            for each in says:
                said = each(state)
                record = said if isinstance(said, NewRecord) else new_record(said, record_id="", time_ns=0, producer="")
                [offset] = await board.log.append(topic, [record])
                await board.log.wait(topic, offset, 30)
                [stored] = await board.log.read(topic, offset, 1)
                state, _ = fold(state, stored)
                offsets.append(offset)
            return offsets

    return asyncio.run(work())


FOUNDED: tuple[Says, ...] = (
    lambda _: AdminMessage(**by("x", 1), base=-1, author="ann", configure=ClusterSettings(cluster_id="shop")),
    lambda state: JoinMessage(**by("edge-1", 1), read_to=state.offset, tags=("gpu",), properties=(("zone", "east"),)),
    lambda state: JoinMessage(**by("edge-2", 1), read_to=state.offset),
    lambda state: ProposeMessage(**by("edge-2", 2), base_epoch=state.view.epoch, remove=("edge-1",)),
    acks("edge-1", 2),
    acks("edge-2", 3),
)  # type: ignore[arg-type]


def looked_at_and_commanded(terminal: Terminal, log: str) -> None:
    """What an operator sees and does on any log."""
    *_, second, _, _, _ = write(terminal.folder, log, *FOUNDED)
    place = "--log", log, "--blobs", "./blobs"
    shown = terminal.out("topology", *place)
    assert shown.startswith(f"cluster shop: view {second}, 2 members, is settled; edge-1 leads\n")
    assert "1  edge-1  leader" in shown
    assert "zone = east" in terminal.out("topology", "--details", *place)
    told = terminal.out("topology", "history", *place)
    assert "ann founded the cluster" in told
    assert f"view {second} settled after" in told
    explained = terminal.out("topology", "explain", str(second), *place)
    assert "edge-2 joined" in explained
    assert "acknowledged by edge-1 after" in explained
    assert "lease_runs" in explained
    done = terminal.out("topology", "transfer", "edge-2", "--reason", "night", *place)
    assert "transfer the leadership to edge-2; view" in done
    terminal.run("topology", "freeze", *place)
    assert "the cluster is frozen already" in terminal.refused("topology", "freeze", *place)
    terminal.run("topology", "evict", "edge-1", "--yes", *place)
    found = terminal.json("topology", "show", *place)
    assert ([each["instance"] for each in found["members"]], found["frozen"]) == (["edge-2"], True)
    page = terminal.json("topology", "history", "--limit", "3", *place)
    assert [each["kind"] for each in page["items"]] == ["transferred", "frozen", "evicted"]
    assert "evict edge-1" in terminal.out("log", "grep", "evict edge", "--topic", "topology", *place)


@pytest.mark.proves("T83", "T92")
def test_a_cluster_on_sqlite_is_looked_at_and_commanded(terminal: Terminal):
    looked_at_and_commanded(terminal, "sqlite:///./board.db")


@pytest.mark.postgres
def test_a_cluster_on_postgres_is_looked_at_and_commanded(newcomer: Terminal, place_on_postgres: tuple[str, str]):
    looked_at_and_commanded(newcomer, place_on_postgres[1])


@pytest.mark.kafka
def test_a_cluster_on_kafka_is_looked_at_and_commanded(newcomer: Terminal, place_on_kafka: tuple[str, str]):
    looked_at_and_commanded(newcomer, place_on_kafka[1])


def test_a_board_without_a_cluster_says_so(terminal: Terminal):
    assert terminal.out("topology") == "no cluster yet: no member has ever started on this log\n"
    assert terminal.json("topology", "show")["condition"] == "none"
    assert terminal.out("topology", "history").startswith("no changes yet")
    assert terminal.json("topology", "history")["items"] == []
    for words in (("explain", "1"), ("evict", "a", "--yes"), ("drain", "a"), ("freeze",), ("configure",)):
        assert "its first member founds it; start one" in terminal.refused("topology", *words)
    assert "callboard.topology" in terminal.refused("log", "list", "--topic", "topology")
    assert "callboard.topology" not in terminal.out("doctor")
    assert "callboard_cluster" not in terminal.out("metrics")


def test_what_is_mistyped_is_refused_with_what_may_be_meant(terminal: Terminal):
    write(terminal.folder, "sqlite:///./board.db", *FOUNDED)
    for command in ("evict", "drain", "transfer"):
        assert "no member 'egde-1'; did you mean 'edge-1'?" in terminal.refused("topology", command, "egde-1")
    assert "Did you mean 'history'?" in terminal.refused("topology", "histroy")
    assert "No such option" in terminal.refused("topology", "--jsn")
    assert "should be a valid integer" in terminal.refused("topology", "explain", "edge-1")
    assert "the nearest view is 2; see" in terminal.refused("topology", "explain", "1")
    assert "the topic ends at 7; the nearest view is 3" in terminal.refused("topology", "explain", "99")
    assert "add --yes" in terminal.refused("topology", "evict", "edge-1")
    assert "more than half the lease" in terminal.refused("topology", "configure", "--lease-ms", "600")
    assert "has these settings already" in terminal.refused("topology", "configure")
    assert "is no cursor" in terminal.refused("topology", "history", "--after", "x")
    refused = terminal.envelope("topology", "drain", "egde-1", code=2)
    assert (refused["data"], refused["diagnostics"][0]["code"]) == (None, "unknown_name")


def test_a_command_whose_verdict_is_not_known_in_time_ends_with_1_and_says_where_to_look(terminal: Terminal):
    write(terminal.folder, "sqlite:///./board.db", *FOUNDED)
    said = terminal.refused("topology", "freeze", "--wait", "0", code=1)
    assert "see `callboard topology history` for offset 7" in said
    assert terminal.json("topology", "show")["frozen"]


def test_a_page_of_no_changes_does_not_say_that_there_are_none(terminal: Terminal):
    write(terminal.folder, "sqlite:///./board.db", *FOUNDED)
    assert terminal.out("topology", "history", "--limit", "0").startswith("4 changes, none of them here\n")


def without_ages(table: str) -> str:
    return re.sub(r"\d+ s\b", "- s", table)


def test_options_may_come_before_the_name_of_a_command(terminal: Terminal):
    place = "--log", "sqlite:///./other.db"
    write(terminal.folder, place[1], *FOUNDED)
    before, after = terminal.out("topology", *place, "history"), terminal.out("topology", "history", *place)
    assert without_ages(before) == without_ages(after)
    assert "drain edge-1" in terminal.out("topology", *place, "drain", "edge-1")
    assert len(terminal.json("topology", "--limit", "2", "history", *place)["items"]) == 2
    assert terminal.out("log", *place, "list") == terminal.out("log", "list", *place)


def test_changes_are_watched(terminal: Terminal):
    write(terminal.folder, "sqlite:///./board.db", *FOUNDED)
    watcher = terminal.start("topology", "watch", "--after", "-1", "--json", said="watch.log")
    assert watcher.stdout is not None
    told = [json.loads(watcher.stdout.readline()) for _ in range(4)]
    assert [each["kind"] for each in told] == ["founded", "joined", "joined", "settled"]
    terminal.run("topology", "drain", "edge-1", "--author", "ann")
    told = [json.loads(watcher.stdout.readline())]
    assert [(each["kind"], each["author"], each["leader"]) for each in told] == [("drained", "ann", "edge-2")]
    assert "cluster shop: view 3" in (terminal.folder / "watch.log").read_text()


def test_a_watch_from_beyond_the_end_says_so(terminal: Terminal):
    *_, newest = write(terminal.folder, "sqlite:///./board.db", *FOUNDED)
    watcher = terminal.start("topology", "watch", "--after", "90")
    assert watcher.stderr is not None
    assert watcher.stderr.readline().startswith("cluster shop")
    assert watcher.stderr.readline() == (
        f"offset 90 is beyond the newest record, which is at {newest}: waits for what comes after it\n"
    )


def test_what_was_written_by_a_newer_version_ends_with_its_exit_code(terminal: Terminal):
    newer = NewRecord(payload=b"", headers=(("type", "Novel"), ("version", "9.0")))
    write(terminal.folder, "sqlite:///./board.db", *FOUNDED, lambda _: newer)
    assert "this is older than a record that this version cannot read" in terminal.run("topology", code=5).stdout
    assert "upgrade callboard here" in terminal.refused("topology", "freeze", code=5)
    assert "offset 7 is too new" in terminal.run("doctor", code=1).stdout


@pytest.mark.proves("T94")
def test_metrics_and_doctor_tell_of_the_cluster(terminal: Terminal):
    write(terminal.folder, "sqlite:///./board.db", *FOUNDED)
    told = terminal.out("metrics")
    assert 'callboard_cluster_condition{state="settled"} 1.0' in told
    assert 'callboard_cluster_member_leader{instance="edge-1"} 1.0' in told
    assert 'callboard_cluster_refused_total{reason="lease_runs"} 1.0' in told
    for name in ("member_lease_left_seconds{", "barrier_seconds ", "unsettled_seconds ", "evictions_total ",
                 "rejoins_total ", "false_suspicions_total "):  # fmt: skip
        assert f"\ncallboard_cluster_{name}" in told
    assert "edge-11" not in told, "no incarnation is a label"
    told = terminal.out("doctor")
    assert "cluster shop: 2 members, settled" in told
    assert "callboard.topology" in told
