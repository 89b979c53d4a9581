"""At the centre, a package is distributed, and not needed any more, when every subscriber of a site has it."""

import asyncio

import pytest

from callboard import GatePolicy, Retention
from tests.unit.board.sites.site import DEADLINE_S, Site, at_site


@pytest.mark.proves("S8")
def test_a_package_is_distributed_when_all_of_the_site_have_it(tmp_path):
    async def scenario(it: Site) -> None:
        events = it.centre.events("main", kinds=("distributed",), after=0)
        async with asyncio.timeout(DEADLINE_S):
            assert (await anext(events)).offset == 1
            await it.board.pause("edge-1")
            for content in ("two", "three"):
                package = await it.publish("/a", content)
            await it.caught_up("edge-2")
            await it.row(lambda row: row.site is not None and row.site.relayed == package.offset and row.offset == 1)
            following = asyncio.ensure_future(anext(events))
            await it.publish("/a", "four", recipients=["berlin/edge-2"])  # the notifier looks at the fleet again
            await it.row(lambda row: row.site is not None and row.site.relayed == 4)
            assert not following.done()
            await it.board.resume("edge-1")
            assert (await following).offset == 2
        assert (tmp_path / "edge-1" / "a").exists()
        await events.aclose()

    at_site(tmp_path, scenario)


@pytest.mark.proves("S9")
def test_a_gated_trim_keeps_what_some_subscriber_of_the_site_lacks(tmp_path):
    async def scenario(it: Site) -> None:
        centre, topic = it.centre, it.centre.settings.topics.package
        await it.board.pause("edge-1")
        for content in ("two", "three"):
            await it.publish("/a", content)
        await it.caught_up("edge-2")
        await it.row(lambda row: row.site is not None and row.site.relayed == 3 and row.offset == 1)
        gate = centre.retention_gate(GatePolicy("subscribers"))
        assert (await centre.trim(Retention(older_than_s=0, below_offset=99), gate))[topic] == 2
        await it.board.resume("edge-1")
        await it.row(lambda row: row.offset == 3)
        assert (await centre.trim(Retention(older_than_s=0, below_offset=99), gate))[topic] == 4

    at_site(tmp_path, scenario)
