"""Commands to a subscriber behind a relay: given at the centre, carried out at the site, answered at the centre."""

import asyncio

import pytest

from callboard import Callboard
from callboard.board.read.subscriber_history import subscriber_history
from callboard.messages.distribution.topic_messages import CommandMessage
from callboard.messages.headers import open_record
from tests.refused import refused
from tests.unit.board.sites.site import DEADLINE_S, Site, at_site


@pytest.mark.proves("S4")
def test_each_command_is_on_the_log_once_and_its_result_comes_back(tmp_path):
    async def scenario(it: Site) -> None:
        centre, options = it.centre, {"timeout_s": DEADLINE_S, "author": "ada", "reason": "a test"}
        before = await it.commands()
        assert (await centre.pause("berlin/edge-2", **options)).accepted
        await it.publish("/a", "two")
        await it.publish("/a", "three")
        await it.publish("/a", "four")
        await it.relay.caught_up(DEADLINE_S)
        skipped = await centre.skip("berlin/edge-2", **options)  # the head, by the site's log
        assert (skipped.accepted, skipped.offset, skipped.packages) == (True, 2, 1)
        with refused("invalid"):
            await centre.clear("berlin/edge-2", first=1)
        with refused("out_of_range"):
            await centre.clear("berlin/edge-2", up_to=99)
        cleared = await centre.clear("berlin/edge-2", up_to=3, **options)
        assert (cleared.accepted, cleared.packages, cleared.position) == (True, 1, 3)
        whole = await centre.clear("berlin/edge-2", **options)
        assert (whole.accepted, whole.packages, whole.position) == (True, 1, 4)
        assert (await centre.throttle("berlin/edge-2", 100, **options)).accepted
        assert (await centre.throttle("berlin/edge-2", 0, **options)).accepted
        assert (await centre.resume("berlin/edge-2", **options)).accepted
        listed = await centre.list_content("berlin/edge-2", ("/a",), **options)
        assert await centre.blobs.exists(listed.listing_ref)
        assert await it.commands() - before == 8
        record = (await centre.log.read(centre.settings.topics.command, before))[0]
        command = open_record(record, CommandMessage)
        relay = await it.row(lambda _: True)
        assert (command.subscriber, command.subscriber_instance) == ("berlin/edge-2", relay.instance)
        assert (await it.board.log.bounds(it.board.settings.topics.command)).end - before == 8
        assert (tmp_path / "edge-2" / "a").read_text() == "one"

        history = (await subscriber_history(centre.context, "berlin/edge-2")).commands
        assert [each.accepted for each in history] == [True] * 8
        assert {(each.author, each.reason) for each in history} == {("ada", "a test")}

    at_site(tmp_path, scenario, local=3)


def test_a_retry_names_a_package_by_its_offset_at_the_centre(tmp_path):
    broken = True

    def refuse(_: object) -> None:
        if broken:
            raise RuntimeError("the disk is full")

    options = {"before_import": refuse, "max_retries": 0, "follows": ("main",)}

    async def scenario(it: Site) -> None:
        nonlocal broken
        async with it.board.subscriber("edge-3", tmp_path / "edge-3", **options):
            await it.told(lambda site: site.errors == 1)
            broken = False
            assert not (await it.centre.retry("berlin/edge-3", 7, timeout_s=DEADLINE_S)).accepted
            assert (await it.centre.retry("berlin/edge-3", 1, timeout_s=DEADLINE_S)).accepted
            await it.told(lambda site: site.errors == 0)
        assert (tmp_path / "edge-3" / "a").read_text() == "one"

    at_site(tmp_path, scenario, local=3)


@pytest.mark.proves("S5")
def test_the_relay_refuses_a_command_to_a_subscriber_that_its_site_does_not_have(tmp_path):
    async def scenario(it: Site) -> None:
        result = await it.blind.pause("berlin/edge-7", timeout_s=DEADLINE_S)
        assert (result.accepted, "did you mean 'edge-" in result.reason) == (False, True)
        [given] = (await subscriber_history(it.centre.context, "berlin/edge-7")).commands
        assert given.accepted is False
        with refused("unknown_name"):
            await it.blind.pause("paris/edge-1")
        with refused("unknown_name"):
            await it.board.pause("edge-1/x", force=True)
        refusal = await it.blind.clear("berlin/edge-1", timeout_s=DEADLINE_S)
        assert (refusal.accepted, "not editable" in refusal.reason) == (False, True)

    at_site(tmp_path, scenario)


@pytest.mark.proves("S6")
def test_a_command_waits_for_a_relay_that_is_stopped(tmp_path):
    async def scenario(it: Site) -> None:
        await it.relay.stop()
        await it.row(lambda row: row.liveness == "stopped")
        result = await it.centre.pause("berlin/edge-1", timeout_s=DEADLINE_S)
        assert result.accepted is None
        assert "berlin is stopped; it passes the command on to edge-1 when it starts" in result.reason
        await it.relay.start()
        await it.told(lambda site: site.states.get("paused") == 1)

    at_site(tmp_path, scenario)


@pytest.mark.proves("S7")
def test_the_clear_of_a_relay_is_of_what_it_has_not_relayed_and_says_how_the_rest_is_cleared(tmp_path):
    rest = "`callboard clear berlin/SUBSCRIBER`"

    async def scenario(it: Site) -> None:
        await it.board.pause("edge-2")
        await it.publish("/a", "two")
        await it.relay.caught_up(DEADLINE_S)
        await it.row(lambda row: row.offset == 1 and row.site is not None and row.site.relayed == 2)
        with refused("empty") as caught:
            await it.centre.clear("berlin")
        assert rest in str(caught.value)
        await it.centre.pause("berlin")
        await it.publish("/a", "three")
        await it.row(lambda row: row.site is not None and row.site.behind == 1)
        result = await it.centre.clear("berlin", timeout_s=DEADLINE_S)
        assert (result.accepted, result.offset, result.packages) == (True, 3, 1)
        assert rest in result.reason
        await it.centre.resume("berlin")
        await it.board.resume("edge-2")
        await it.caught_up()
        assert (tmp_path / "edge-2" / "a").read_text() == "two"

    at_site(tmp_path, scenario, editable=True)


def test_the_clear_of_all_takes_of_a_relay_only_what_it_has_not_relayed(tmp_path):
    async def scenario(it: Site) -> None:
        await it.board.pause("edge-2")
        await it.publish("/a", "two")
        await it.relay.caught_up(DEADLINE_S)
        await it.row(lambda row: row.offset == 1 and row.site is not None and row.site.relayed == 2)
        assert await it.centre.clear_all() == ()

    at_site(tmp_path, scenario, editable=True)


def test_what_is_for_a_subscriber_of_a_site_goes_to_it_alone(tmp_path):
    async def scenario(it: Site) -> None:
        with refused("unknown_name"):
            await it.publish("/b", "two", recipients=["paris/edge-1"])
        await it.centre.pause("berlin")
        package = await it.publish("/b", "two", recipients=["berlin/edge-1"])
        await it.row(lambda row: row.lag_packages == 1)
        assert [each.offset for each in (await it.centre.queue("berlin")).items] == [package.offset]
        await it.centre.resume("berlin")
        await it.caught_up()
        assert ((tmp_path / "edge-1" / "b").exists(), (tmp_path / "edge-2" / "b").exists()) == (True, False)
        await it.centre.resend(package.offset, to=("berlin/edge-2",))
        await it.caught_up()
        assert (tmp_path / "edge-2" / "b").read_text() == "two"

    at_site(tmp_path, scenario)


def test_a_command_is_kept_until_the_relay_has_handled_it(tmp_path):
    from callboard.actors.worlds.shortening.last_announcements import LastAnnouncements

    async def scenario(it: Site) -> None:
        await it.relay.stop()
        await it.row(lambda row: row.liveness == "stopped")
        await it.centre.pause("berlin/edge-1", timeout_s=DEADLINE_S)
        topics, log = it.centre.settings.topics, it.centre.log
        end = (await log.bounds(topics.command)).end
        command = open_record((await log.read(topics.command, end - 1))[0], CommandMessage)

        async def handled() -> tuple[bool, bool]:
            roll = LastAnnouncements(topics.discovery)
            await roll.catch_up(log, it.centre.context.now_ns())
            return roll.knows(command), roll.handled_up_to(command, end) >= end - 1

        assert await handled() == (True, False)
        await it.relay.start()
        async with asyncio.timeout(DEADLINE_S):
            while not (await handled())[1]:
                await log.wait(topics.discovery, (await log.bounds(topics.discovery)).end, 1)

    at_site(tmp_path, scenario)


def test_a_site_that_is_closed_with_its_board_can_be_looked_into_again(tmp_path):
    async def scenario(it: Site) -> None:
        board = Callboard(f"sqlite:///{tmp_path}/centre.db", sites=dict(it.centre.settings.sites))
        for _ in range(2):
            async with board:
                assert (await board.queue("berlin/edge-1")).complete
            assert board.context.sites == {}

    at_site(tmp_path, scenario)
