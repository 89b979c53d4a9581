"""The cluster in the console: members, its history in pages, and why a view was made."""

import re
from pathlib import Path

import pytest

from callboard import Callboard
from tests.unit.board.member.clusters import Cluster
from tests.web.served import OPERATOR, reader, run

HOSTILE = "<script>alert(1)</script>\u202e"


@run
async def test_a_log_without_a_cluster_says_how_to_join(tmp_path: Path):
    async with Callboard("memory:", base=tmp_path) as board, reader(board) as reads:
        said = await reads.words("/topology")
        assert "no cluster yet: no member has ever started on this log." in said
        assert "callboard run worker MODULE:NAME --member NAME" in said
        assert "no cluster is on this log yet" in await reads.words("/topology/views/0", 404)


@pytest.mark.proves("T82")
@run
async def test_members_are_shown_in_order_with_what_they_do_and_the_commands_to_them(tmp_path: Path):
    async with Cluster(tmp_path) as cluster:
        for name in "abc":
            await cluster.add(name, tags=["disk"], properties={"zone": HOSTILE})
        await cluster.agreed("abc")
        board = cluster.boards["a"]
        await board.topology.drain("b", reason=HOSTILE, author="ada")
        async with reader(board, OPERATOR) as reads:
            said = await reads.until("/topology", "3 members, is settled; a leads.", "draining")
            assert f"({HOSTILE[:-1]}" in await reads.words("/topology/changes")
            page = await reads.page("/topology")
            assert re.findall(r'<tr id="m-(\w)">', page) == ["a", "b", "c"]
            assert "1 a leader" in said
            assert "lease_ms 60000" in said
            assert 'href="/actions/drain?instance=a"' in page
            assert 'href="/actions/undo-drain?instance=b"' in page
            assert "<script>alert" not in page
            assert "\u202e" not in page
        async with reader(board) as reads:
            assert "/actions/" not in await reads.page("/topology")


@run
async def test_a_view_is_explained_and_leads_to_those_beside_it(tmp_path: Path):
    async with Cluster(tmp_path) as cluster:
        for name in "ab":
            await cluster.add(name)
        await cluster.agreed("ab")
        async with reader(cluster.boards["a"]) as reads:
            await reads.until("/topology", "2 members, is settled")
            views = re.findall(r'href="/topology/views/(\d+)"', await reads.page("/topology/changes"))
            newest, first = views[0], views[-1]
            said = await reads.words(f"/topology/views/{newest}")
            assert f"view {newest} was made" in said
            assert "members: a, b; leader: a; view before: " in said
            assert "acknowledged by b after" in said
            assert f'href="/topology/views/{first}">View before' in await reads.page(f"/topology/views/{newest}")
            for wrong, status, told in (
                ("999999", 400, "no record is at offset 999999 yet"), ("x", 400, "should be a whole number"),
                ("-1", 400, "should be a whole number"), ("9" * 40, 400, "should be a whole number"),
            ):  # fmt: skip
                assert told in await reads.words(f"/topology/views/{wrong}", status)


@run
async def test_the_history_comes_in_pages(tmp_path: Path):
    async with Cluster(tmp_path) as cluster:
        await cluster.add("a")
        await cluster.agreed("a")
        board = cluster.boards["a"]
        for _ in range(30):
            await board.topology.drain("a")
            await board.topology.drain("a", undo=True)
        async with reader(board) as reads:
            assert "63 changes, the newest first" in await reads.words("/topology/changes")
            offsets, path = list[int](), "/topology/changes"
            while path:
                page = await reads.page(path)
                offsets += map(int, re.findall(r'<tr id="v-(\d+)">', page))
                older = re.search(r'<a rel="next" href="([^"]+)">Older', page)
                path = f"/topology/changes{older[1]}" if older else ""
            assert len(offsets) == len(set(offsets)) == 63
            assert offsets == sorted(offsets, reverse=True)
            assert "cursor" in await reads.words("/topology/changes?cursor=nonsense", 400)
