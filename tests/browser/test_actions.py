"""Operators act in a browser: by keyboard, without scripts, and when the console is gone; plots move."""

import re
from pathlib import Path

import pytest
from playwright.async_api import expect

from callboard import Callboard
from callboard.board.read.log.log_records import opened
from callboard.messages.distribution.topic_messages import CommandMessage
from tests.browser.chromium import NARROW, WIDE, barriers, chromium, looking, too_wide
from tests.unit.board.member.clusters import Cluster
from tests.web.actions.operators import fleet, records, until
from tests.web.served import OPERATOR, run, served
from tests.web.stage import fleet_of, packages

pytestmark = pytest.mark.browser

HOSTILE = "<img src=x onerror=alert(1)>\u202e"


async def commands(board: Callboard) -> list[tuple[str, str]]:
    """By whom, and why."""
    found = map(opened, await records(board))
    return [(each.author, each.reason) for each in found if isinstance(each, CommandMessage)]


@run
async def test_a_subscriber_is_paused_by_keyboard_and_the_focus_comes_back(tmp_path: Path):
    async with (
        fleet(tmp_path) as board, served(board, OPERATOR) as address, chromium() as browser,
        looking(browser, address) as looker,
    ):  # fmt: skip
        page = await looker.opens("/subscribers/berlin")
        button = page.get_by_role("button", name="Pause imports")
        await button.focus()
        await page.keyboard.press("Enter")
        dialog = page.get_by_role("dialog", name="Pause berlin")
        await expect(dialog).to_contain_text("imports nothing until it is resumed")
        await expect(dialog.get_by_label("Reason")).to_be_focused()
        assert not await barriers(page)
        await page.keyboard.press("Escape")
        await expect(dialog).to_be_hidden()
        await expect(button).to_be_focused()
        await page.keyboard.press("Enter")
        await expect(dialog.get_by_label("Reason")).to_be_focused()
        await page.keyboard.type(f"the disk is full {HOSTILE}")
        await page.keyboard.press("Tab")
        await page.keyboard.press("Enter")
        await expect(dialog).to_contain_text("berlin is paused")
        await expect(dialog.locator("h2")).to_be_focused()
        await until(board, "berlin", "paused")
        await page.keyboard.press("Escape")
        await expect(dialog).to_be_hidden()
        await expect(page.get_by_role("button", name="Resume")).to_be_visible()
        assert await commands(board) == [("olga", f"the disk is full {HOSTILE}")]
        assert not looker.complaints


@run
async def test_refusals_are_shown_in_the_dialog_and_a_form_without_a_reason_is_not_sent(tmp_path: Path):
    async with (
        fleet(tmp_path) as board, served(board, OPERATOR) as address, chromium() as browser,
        looking(browser, address, NARROW) as looker,
    ):  # fmt: skip
        page = await looker.opens("/subscribers/berlin")
        await board.pause("berlin")
        await board.publisher("main").delete(["/index.html"])
        await page.get_by_role("button", name="Clear the queue").click()
        dialog = page.get_by_role("dialog")
        await expect(dialog).to_contain_text("berlin will skip 1 package of its queue")
        await board.clear("berlin")
        await dialog.get_by_label("Reason").fill("it is wrong")
        await dialog.get_by_role("button", name="Clear").click()
        await expect(dialog).to_contain_text(re.compile("nothing (is left )?to clear"))
        assert not await too_wide(page)
        await dialog.get_by_text("Close").click()
        await expect(dialog).to_be_hidden()
        await page.get_by_role("button", name="Throttle").click()
        await dialog.get_by_role("button", name="Limit").click()
        await expect(dialog.get_by_label("Packages a minute")).to_be_focused()  # the browser says that it is needed
        await dialog.get_by_label("Packages a minute").fill("99999999")
        await dialog.get_by_label("Reason").fill("slowly")
        await dialog.get_by_role("button", name="Limit").click()
        await expect(dialog).to_contain_text("should be a whole number from 0 to")
        await expect(dialog.get_by_label("Reason")).to_have_value("slowly")
        await dialog.get_by_label("Packages a minute").fill("60")
        await dialog.get_by_role("button", name="Limit").click()
        await expect(dialog).to_contain_text("berlin has the new limit")
        assert [reason for _, reason in await commands(board)] == ["", "", "it is wrong", "slowly"]
        assert not [each for each in looker.complaints if "the server responded with a status of 4" not in each]


@run
async def test_a_console_that_is_gone_is_said_in_the_dialog(tmp_path: Path):
    async with fleet(tmp_path) as board, chromium() as browser:
        async with served(board, OPERATOR) as address:
            looking_at = looking(browser, address)
            looker = await looking_at.__aenter__()
            page = await looker.opens("/subscribers/berlin")
            await page.get_by_role("button", name="Pause imports").click()
            dialog = page.get_by_role("dialog")
            await dialog.get_by_label("Reason").fill("too late")
        await dialog.get_by_role("button", name="Pause").click()
        await expect(dialog).to_contain_text("The console does not answer. If you sent something, look whether")
        await expect(dialog.get_by_label("Reason")).to_have_value("too late")
        await looking_at.__aexit__(None, None, None)
        assert await commands(board) == []


@run
async def test_everything_works_without_scripts(tmp_path: Path):
    async with fleet(tmp_path) as board, served(board, OPERATOR) as address, chromium() as browser:
        context = await browser.new_context(java_script_enabled=False)
        page = await context.new_page()
        await page.goto(f"{address}/subscribers/berlin")
        await page.get_by_text("Pause imports").click()
        await page.get_by_label("Reason").fill("by hand")
        await page.get_by_role("button", name="Pause").click()
        await expect(page.locator("main")).to_contain_text("berlin is paused")
        await until(board, "berlin", "paused")
        await context.close()


@run
async def test_a_plot_moves_on_while_it_is_looked_at(tmp_path: Path):
    async with Callboard(f"sqlite:///{tmp_path / 'board.db'}") as board:
        await packages(board, 4)
        await fleet_of(board, ["edge"], offset=3)
        async with served(board) as address, chromium() as browser, looking(browser, address) as looker:
            page = await looker.opens("/plots")
            legend = page.locator("#plot-lag .legend")
            await expect(legend).to_contain_text("edge: 1, at most 1")
            await packages(board, 5)
            now_ns = board.context.now_ns
            board.context.now_ns = lambda: now_ns() + 15 * 10**9
            await expect(legend).to_contain_text("edge: 6, at most 6")
            line = page.locator("#plot-lag .line-1").first
            assert "L" in (await line.get_attribute("d") or "")
            await page.get_by_role("link", name="2 days").click()
            await expect(page.locator("#plot-lag figcaption")).to_have_text("Behind, packages")
            assert not looker.complaints


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("size", [WIDE, NARROW], ids=["desk", "phone"])
@run
async def test_topology_jobs_and_plots_can_be_used_by_everybody(tmp_path: Path, size: tuple[int, int], scheme: str):
    async with Cluster(tmp_path) as cluster:
        await cluster.add("a", properties={"zone": "z" * 900})
        await cluster.agreed("a")
        board = cluster.boards["a"]
        job = await board.jobs.add("mail/send", {"to": HOSTILE, "long": "x" * 5000}, title="t" * 400)
        await board.jobs.drop(job.id, reason=HOSTILE * 50, author="ada")
        await board.jobs.add("mail/" + "x" * 150)
        await board.jobs.schedule("night", "mail/send", cron="30 3 * * *")
        await fleet_of(board, ["w" * 100, HOSTILE], offset=1)
        async with (
            served(board, OPERATOR) as address, chromium() as browser,
            looking(browser, address, size, scheme) as looker,
        ):  # fmt: skip
            epoch = (await board.topology.view()).epoch
            for path in (
                "/topology", "/topology/changes", f"/topology/views/{epoch}", "/jobs", f"/jobs/{job.id}",
                f"/jobs/{job.id}/life", "/schedules", "/folds",
                "/plots", "/plots?range=2d", f"/actions/stop-job?job={job.id}", "/actions/drain?instance=a",
            ):  # fmt: skip
                page = await looker.opens(path)
                assert not await too_wide(page), path
                assert not await barriers(page), path
                await page.close()
            assert not [each for each in looker.complaints if "status of 409" not in each]
