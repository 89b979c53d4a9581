"""Pages keep themselves up to date, and leave the reader alone."""

import pytest
from playwright.async_api import expect

from callboard import Callboard
from tests.browser.chromium import chromium, looking
from tests.web.served import run, served
from tests.web.stage import fleet_of, packages, staged

pytestmark = pytest.mark.browser


@run
async def test_a_page_changes_without_being_loaded_again(tmp_path):
    async with (
        staged(tmp_path) as board, served(board) as address, chromium() as browser, looking(browser, address) as looker,
    ):  # fmt: skip
        page = await looker.opens("/")
        await page.evaluate("window.same = true")
        await expect(page.locator("#s-good")).to_contain_text("idle")
        await board.pause("good", reason="a test")
        await expect(page.locator("#s-good")).to_contain_text("paused")
        assert await page.evaluate("window.same")
        assert not looker.complaints


@run
async def test_focus_open_details_scrolling_and_what_is_typed_stay(tmp_path):
    async with Callboard(f"sqlite:///{tmp_path / 'board.db'}") as board:
        await packages(board, 2)
        names = [f"edge-{number:02}" for number in range(60)]
        await fleet_of(board, names, offset=2, reason="because " * 40)
        async with served(board) as address, chromium() as browser, looking(browser, address) as looker:
            page = await looker.opens("/?sort=name")
            row = page.locator("#s-edge-50")
            await row.locator("summary").click()
            await row.locator("a").first.focus()
            at = await page.evaluate("scrollY")
            await packages(board, 1)
            await expect(row.locator("td.number").first).to_have_text("1")
            assert await row.locator("details").get_attribute("open") is not None
            assert await page.evaluate("scrollY") == at
            assert await page.evaluate("document.activeElement.textContent") == "edge-50"
            await page.locator("input[name=q]").fill("half a na")
            await page.locator("input[name=publisher]").fill("ma")
            await packages(board, 1)
            await expect(row.locator("td.number").first).to_have_text("2")
            assert await page.locator("input[name=q]").input_value() == "half a na"
            assert await page.locator("input[name=publisher]").input_value() == "ma"


@run
async def test_a_page_waits_while_it_is_paused_or_its_text_is_selected(tmp_path):
    async with Callboard(f"sqlite:///{tmp_path / 'board.db'}") as board:
        await packages(board, 1)
        await fleet_of(board, ["edge"], offset=1)
        async with served(board) as address, chromium() as browser, looking(browser, address) as looker:
            page, other = await looker.opens("/"), await looker.opens("/?sort=name")
            behind = "#s-edge td.number >> nth=0"
            pause = page.get_by_role("button", name="Pause")
            await pause.click()
            await expect(pause).to_have_attribute("aria-pressed", "true")
            await packages(board, 1)
            await expect(other.locator(behind)).to_have_text("1")
            await expect(page.locator(behind)).to_have_text("0")
            await expect(page.locator("main.held")).to_be_visible()
            await page.get_by_role("button", name="Paused").click()
            await expect(page.locator(behind)).to_have_text("1")
            await page.locator("h1").select_text()
            await packages(board, 1)
            await expect(other.locator(behind)).to_have_text("2")
            assert await page.evaluate("getSelection().toString()") == "Fleet"
            await expect(page.locator(behind)).to_have_text("1")
            await page.evaluate("getSelection().removeAllRanges()")
            await expect(page.locator(behind)).to_have_text("2")


@run
async def test_a_console_that_is_gone_is_said_so_until_it_is_back(tmp_path):
    async with Callboard(f"sqlite:///{tmp_path / 'board.db'}") as board, chromium() as browser:
        await fleet_of(board, ["edge"], offset=1)
        async with served(board) as address, looking(browser, address) as looker:
            page = await looker.opens("/")
            lost = page.locator("#lost")
            await expect(page.locator("#s-edge")).to_be_visible()
            await expect(lost).to_be_hidden()
            await looker.context.set_offline(True)
            for event in ("pagehide", "pageshow"):  # as after a look at another page
                await page.evaluate("name => window.dispatchEvent(new Event(name))", event)
            await expect(lost).to_be_visible()
            await expect(page.locator("#s-edge")).to_be_visible()
            await looker.context.set_offline(False)
            await expect(lost).to_be_hidden(timeout=15_000)


@run
async def test_a_click_copies_a_command(tmp_path):
    async with (
        staged(tmp_path) as board, served(board) as address, chromium() as browser, looking(browser, address) as looker,
    ):  # fmt: skip
        await looker.context.grant_permissions(["clipboard-read", "clipboard-write"])
        page = await looker.opens("/subscribers/stuck")
        code = page.get_by_text("callboard retry stuck", exact=True)
        await code.click()
        await expect(page.locator("code.copied")).to_have_text("callboard retry stuck")
        assert await page.evaluate("navigator.clipboard.readText()") == "callboard retry stuck"
        assert await page.evaluate("getSelection().isCollapsed")


@run
async def test_the_keyboard_suffices(tmp_path):
    async with (
        staged(tmp_path) as board, served(board) as address, chromium() as browser, looking(browser, address) as looker,
    ):  # fmt: skip
        page = await looker.opens("/")
        await page.keyboard.press("Tab")
        assert await page.evaluate("document.activeElement.textContent") == "Skip to the content"
        await page.keyboard.press("/")
        await page.keyboard.type("stu/ck")  # a slash in a field is a slash
        assert await page.locator("input[name=q]").input_value() == "stu/ck"
        await page.keyboard.press("Control+A")
        await page.keyboard.type("stuck")
        await page.keyboard.press("Enter")
        await page.wait_for_url("**/?q=stuck**")
        await expect(page.locator("article.card")).to_have_count(1)
        await page.get_by_role("link", name="stuck").first.focus()
        await page.keyboard.press("Enter")
        await page.wait_for_url("**/subscribers/stuck")
        await page.go_back()
        await expect(page.locator("input[name=q]")).to_have_value("stuck")
