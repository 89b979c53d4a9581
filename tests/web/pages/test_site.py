"""A relay's page shows its site, and each subscriber of a site has a page of its own."""

import re

from tests.unit.board.sites.site import site
from tests.web.actions.operators import console
from tests.web.served import OPERATOR, reader, run


@run
async def test_the_fleet_and_the_page_of_a_relay_show_the_site(tmp_path):
    async with site(tmp_path) as it, reader(it.centre, OPERATOR) as reads:
        await it.board.pause("edge-1")
        await it.publish("/a", "two")
        await it.relay.caught_up()
        said = await reads.until("/", "1 of the 2 subscribers of the site needs an operator", "Site: ")
        assert re.search(r"Site: 1 of 2 (idle|paused), 1 (idle|paused)", said)
        said = await reads.until("/subscribers/berlin", "The relay itself is at offset 2", "berlin/edge-1 paused 1")
        assert "berlin/edge-2 idle 0" in said
        page = await reads.page("/subscribers/berlin")
        assert 'href="/subscribers/berlin%2Fedge-1"' in page
        said = await reads.words("/subscribers/berlin%2Fedge-1")
        assert "At the site of berlin" in said
        assert "1 package to import" in said
        assert re.findall(r'<tr id="q-(\d+)">', await reads.page("/subscribers/berlin%2Fedge-1")) == ["2"]
        assert await reads.words("/subscribers/berlin/edge-1")
        assert "did you mean 'berlin/edge-" in await reads.words("/subscribers/berlin/edge-9", 404)
        assert "did you mean 'berlin'" in await reads.words("/subscribers/berlim/edge-1", 404)


@run
async def test_without_the_sites_log_the_page_says_what_the_relay_said_and_what_is_not_known(tmp_path):
    async with site(tmp_path) as it, reader(it.blind, OPERATOR) as reads:
        await it.board.pause("edge-1")
        await it.publish("/a", "two")
        said = await reads.until("/subscribers/berlin%2Fedge-1", "edge-1 paused", "its queue is only on the site's log")
        assert "paused by" in said
        said = await reads.words("/subscribers/berlin%2Fedge-2")
        assert "nothing is known here of berlin/edge-2" in said
        assert "Clear the queue" in said  # it may be editable: the command goes by the relay


@run
async def test_operators_command_subscribers_of_a_site(tmp_path):
    async with site(tmp_path) as it, console(it.centre) as at:
        await it.told(lambda told: told.subscribers == 2)
        assert "berlin/edge-2 is idle" in (await at.ada.form("pause", subscriber="berlin/edge-2")).words
        done = await at.ada.act("pause", "the disk is replaced", subscriber="berlin/edge-2")
        assert "berlin/edge-2 is paused" in done.words
        await it.publish("/a", "two")
        await it.relay.caught_up()
        form = await at.ada.form("clear", subscriber="berlin/edge-2")
        assert "will skip all packages of its queue up to offset 2" in form.words
        done = await at.ada.send("clear", form.fields, reason="no longer wanted")
        assert "berlin/edge-2 skipped 1 package" in done.words
        assert "berlin/edge-2 has resumed" in (await at.ada.act("resume", "done", subscriber="berlin/edge-2")).words
        assert await at.commands() == [
            ("berlin/edge-2", "ada", "the disk is replaced"), ("berlin/edge-2", "ada", "no longer wanted"),
            ("berlin/edge-2", "ada", "done"),
        ]  # fmt: skip
