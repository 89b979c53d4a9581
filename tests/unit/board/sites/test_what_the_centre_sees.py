"""What an operator at the centre sees of the subscribers of a site, with the site's log and without."""

import asyncio
import re

import pytest

from callboard import Callboard, RequestRefused, SitePlace
from tests.refused import refused
from tests.unit.board.sites.site import DEADLINE_S, Site, at_site, relay_row


async def with_a_pause(it: Site) -> None:
    """``edge-1`` is paused, and two packages behind."""
    await it.board.pause("edge-1")
    await it.publish("/a", "two")
    await it.publish("/b", "two")
    await it.caught_up("edge-2")
    await it.told(lambda site: site.needs == 1 and bool(site.rows) and site.rows[0].lag_packages == 2)


@pytest.mark.proves("S1")
def test_without_the_sites_log_the_centre_sees_what_the_relay_says_and_what_is_not_known(tmp_path):
    async def scenario(it: Site) -> None:
        await with_a_pause(it)
        row = await it.row(lambda row: row.lag_packages == 2, it.blind)
        assert row.needs
        assert (row.offset, row.site.relayed, row.site.behind) == (1, 3, 0)
        assert (dict(row.site.states), row.site.needs, row.site.problem) == ({"idle": 1, "paused": 1}, 1, "")
        [trouble] = row.troubles
        assert trouble.what == "1 of the 2 subscribers of the site needs an operator: berlin/edge-1 (paused)"
        assert [each.command for each in trouble.remedies] == ["callboard status berlin"]
        [worst] = row.site.rows
        assert (worst.name, worst.state, worst.offset, worst.lag_packages) == ("berlin/edge-1", "paused", 1, 2)

        view = await it.blind.queue("berlin/edge-1")
        assert (view.items, view.size, view.complete) == ((), 2, False)
        advice = "set `to` in [relays.berlin] (in a service: `sites`), or run `callboard queue edge-1` there"
        assert advice in view.missing
        assert "s ago" in view.missing
        assert (await it.blind.errors("berlin/edge-1")).size == 0
        for question in (it.blind.queue, it.blind.errors, it.blind.site_status):
            with refused("at_site"):
                await question("berlin/edge-2")  # well, so it is not among those that the relay names
        with refused("at_site"):
            await it.blind.explain("berlin/edge-1", "/a")
        with refused("at_site"):
            await it.blind.verify("berlin/edge-1")

    at_site(tmp_path, scenario)


@pytest.mark.proves("S2")
def test_with_the_sites_log_the_centre_sees_everything_by_the_offsets_of_its_own(tmp_path):
    async def scenario(it: Site) -> None:
        await with_a_pause(it)
        view = await it.centre.queue("berlin/edge-1", limit=1)
        assert [(each.offset, each.paths, each.entry) for each in view.items] == [(2, ("/a",), "callboard.package@2")]
        assert (view.subscriber, view.size, view.complete) == ("berlin/edge-1", 2, True)
        assert view.troubles[0].remedies[0].command == "callboard resume berlin/edge-1"
        [last] = (await it.centre.queue("berlin/edge-1", cursor=view.cursor)).items
        assert last.offset == 3
        found = await it.centre.explain("berlin/edge-1", "/a")
        assert (found.subscriber, found.offset, found.looked_back_to) == ("berlin/edge-1", 1, 1)
        assert [each.offset for each in (found.brought, *found.newer)] == [1, 2]
        site = await it.centre.site_status("berlin")
        assert [(each.name, each.offset, each.state) for each in site.rows] == [
            ("berlin/edge-1", 1, "paused"), ("berlin/edge-2", 3, "idle"),
        ]  # fmt: skip
        assert site.missing == ""
        [row] = (await it.centre.site_status("berlin/edge-2")).rows
        assert row.editable
        (it.folder / "edge-2" / "b").write_text("altered")
        checked = await it.centre.verify("berlin/edge-2")
        assert [(each.path, each.what, each.offset) for each in checked.differences] == [("/b", "differs", 3)]
        await it.centre.repair("berlin/edge-2", checked)
        await it.caught_up("edge-2")
        assert (it.folder / "edge-2" / "b").read_text() == "two"
        assert not (await it.centre.verify("berlin/edge-2")).differences

    at_site(tmp_path, scenario, local=3)


def test_packages_of_the_site_itself_have_no_offset_here(tmp_path):
    async def scenario(it: Site) -> None:
        await it.board.pause("edge-1")
        await it.publish("/local/9", "of the site", it.board)
        await it.publish("/b", "two")
        await it.caught_up("edge-2")
        view = await it.centre.queue("berlin/edge-1")
        assert [(each.offset, each.entry) for each in view.items] == [(-1, ""), (2, "callboard.package@2")]
        assert (await it.centre.explain("berlin/edge-1", "/local/9")).newer[0].offset == -1

    at_site(tmp_path, scenario, local=3)


def test_errors_of_a_site_are_shown_with_the_offsets_that_commands_take(tmp_path):
    def refuse(call) -> None:
        raise RuntimeError("the disk is full")

    options = {"before_import": refuse, "max_retries": 0, "follows": ("main",)}

    async def scenario(it: Site) -> None:
        async with it.board.subscriber("edge-3", it.folder / "edge-3", **options):
            await it.told(lambda site: site.errors == 1)
            [failed] = (await it.centre.errors("berlin/edge-3")).items
            assert (failed.subscriber, failed.offset, failed.entry) == ("berlin/edge-3", 1, "callboard.package@1")
            assert (await it.blind.errors("berlin/edge-3")).size == 1
            result = await it.centre.skip("berlin/edge-3", failed.offset)
            assert result.accepted
            await it.told(lambda site: site.errors == 0)

    at_site(tmp_path, scenario, local=3)


def test_unknown_names_are_refused_with_the_one_that_was_meant(tmp_path):
    async def scenario(it: Site) -> None:
        for name, meant in (("berlim/edge-1", "berlin"), ("berlin/edge-7", "edge-"), ("edge/x", "")):
            for question in (it.centre.queue, it.centre.errors, it.centre.site_status):
                with refused("unknown_name") as caught:
                    await question(name)
                assert (
                    not meant
                    or f"did you mean '{meant}" in str(caught.value)
                    or "did you mean 'berlin/" in str(caught.value)
                )
        with refused("unknown_name") as caught:
            await it.board.queue("edge-1/x")
        assert str(caught.value).startswith("'edge-1' is not a relay, so there is no 'edge-1/x'; `callboard status`")
        for wrong in ("", "/", "berlin/", "/edge-1", "berlin//edge-1", "berlin/ edge-1", "a/" * 9 + "a", "berlin/x\n"):
            with refused("invalid"):
                await it.centre.site_status(wrong)
            if wrong:
                with refused("invalid"):
                    await it.centre.pause(wrong)
        for strange in (None, 7, b"berlin/edge-1", ["berlin/edge-1"]):
            with pytest.raises(RequestRefused):
                await it.centre.queue(strange)
        with refused("at_site"):
            await it.centre.forget_subscriber("berlin/edge-1")

    at_site(tmp_path, scenario)


@pytest.mark.proves("S3")
def test_a_log_that_is_not_the_relays_is_refused_and_one_that_does_not_answer_is_named(tmp_path):
    async def scenario(it: Site) -> None:
        await with_a_pause(it)
        other, log = f"sqlite:///{tmp_path}/other.db", f"sqlite:///{tmp_path}/centre.db"
        async with Callboard(other):
            pass
        async with Callboard(log, sites={"berlin": SitePlace(other)}) as wrong:
            with refused("mismatch"):
                await wrong.queue("berlin/edge-1")
            assert (await it.row(lambda _: True, wrong)).site.needs == 1
        async with Callboard(log, sites={"berlin": SitePlace(f"sqlite:///{tmp_path}/nowhere.db")}) as away:
            view = await away.queue("berlin/edge-1")
            assert view.size == 2
            assert "the site's log cannot be read: there is no topic" in view.missing
            assert "the site's log cannot be read" in (await away.site_status("berlin")).missing

    at_site(tmp_path, scenario)
    assert not (tmp_path / "nowhere.db").exists()


def test_a_relay_whose_site_does_not_answer_needs_an_operator_and_what_it_says_grows_old(tmp_path, monkeypatch):
    async def scenario(it: Site) -> None:
        await it.told(lambda site: site.subscribers == 2)
        await it.board.close()
        site = await it.told(lambda site: bool(site.problem))
        row = await it.row(lambda row: row.needs)
        assert re.search(r"cannot look at its site, .* \(.*\); its figures are \d+ s old", row.troubles[-1].what)
        assert site.subscribers == 2
        assert (await it.told(lambda now: now.age_s > site.age_s)).problem
        await it.board.__aenter__()

    at_site(tmp_path, scenario)


def test_a_log_of_a_site_that_hangs_is_not_waited_for(tmp_path):
    async def scenario(it: Site) -> None:
        await it.told(lambda site: site.subscribers == 2)
        await it.centre.site_status("berlin")
        there = await it.centre.context.sites["berlin"]
        there.log.bounds = lambda _: asyncio.Event().wait()
        late = "the site's log does not answer (in time); try again later"
        assert late in (await it.centre.site_status("berlin", timeout_s=0.5)).missing
        with refused("at_site") as error:
            await it.centre.queue("berlin/edge-1", timeout_s=0.5)
        assert late in str(error.value)
        there.log.identity = there.log.bounds
        with refused("at_site"):
            await it.centre.explain("berlin/edge-1", "/a", timeout_s=0.5)

    at_site(tmp_path, scenario)


def test_what_is_behind_two_relays_is_seen_through_both(tmp_path):
    async def scenario() -> None:
        urls = [f"sqlite:///{tmp_path}/{name}.db" for name in ("centre", "berlin", "mitte")]
        sites = {"berlin": SitePlace(urls[1]), "berlin/mitte": SitePlace(urls[2])}
        (tmp_path / "source").mkdir()
        (tmp_path / "source" / "a").write_text("one")
        async with Callboard(urls[0], sites=sites) as centre, Callboard(urls[1]) as berlin, Callboard(urls[2]) as mitte:
            outer = centre.relay("berlin", berlin, ledger=f"sqlite:{tmp_path}/1.ledger")
            inner = berlin.relay("mitte", mitte, ledger=f"sqlite:{tmp_path}/2.ledger")
            (tmp_path / "local").mkdir()
            (tmp_path / "local" / "l").write_text("l")
            await mitte.publisher("local").publish(tmp_path / "local", ["/l"])
            async with outer, inner, mitte.subscriber("edge-1", tmp_path / "out") as edge:
                await centre.publisher("main").publish(tmp_path / "source")
                for each in (outer, inner, edge):
                    await each.caught_up(DEADLINE_S)
                await mitte.pause("edge-1")
                await centre.publisher("main").publish(tmp_path / "source", full=True)
                for each in (outer, inner):
                    await each.caught_up(DEADLINE_S)
                await relay_row(centre, lambda row: row.site is not None and row.site.needs == 1)
                view = await centre.queue("berlin/mitte/edge-1")
                assert [each.offset for each in view.items] == [2]
                assert view.subscriber == "berlin/mitte/edge-1"
                [row] = (await centre.site_status("berlin/mitte/edge-1")).rows
                assert (row.state, row.offset) == ("paused", 1)
                done = await centre.resume("berlin/mitte/edge-1", timeout_s=DEADLINE_S)
                assert (done.accepted, done.subscriber) == (True, "berlin/mitte/edge-1")
                await edge.caught_up(DEADLINE_S)

    asyncio.run(scenario())
