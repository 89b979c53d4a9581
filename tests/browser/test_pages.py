"""Every page of the console in a browser: on a desk and on a phone, in light and in dark, for everybody."""

import pytest

from callboard import Callboard
from tests.browser.chromium import MIDDLE, NARROW, WIDE, barriers, chromium, draw, looking, too_wide
from tests.web.served import OPERATOR, run, served
from tests.web.stage import HOSTILE, LONG, fleet_of, packages, staged

pytestmark = pytest.mark.browser

PAGES = {
    "fleet": "/",
    "subscriber": "/subscribers/stuck",
    "package": "/packages/2",
    "content": "/packages/2/content",
    "errors": "/errors",
    "log": "/log",
    "record": "/log/package/2",
    "paths": "/paths?path=/blog/a.html",
    "explained": "/paths?path=/blog/a.html&subscriber=good",
    "refused": "/subscribers/stack",
}

@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("size", [WIDE, NARROW], ids=["desk", "phone"])
@run
async def test_every_page_can_be_used_by_everybody(tmp_path, size, scheme):
    async with (
        staged(tmp_path) as board, served(board, OPERATOR) as address, chromium() as browser,
        looking(browser, address, size, scheme) as looker,
    ):  # fmt: skip
        for name, path in PAGES.items():
            page = await looker.opens(path)
            assert await page.locator("h1").count() == 1
            assert not await too_wide(page), name
            assert not await barriers(page), name
            if name != "refused":
                await draw(page, name, size, scheme)
            await page.close()
        complaints = [each for each in looker.complaints if "404 (Not Found)" not in each]
        assert not complaints


@pytest.mark.parametrize("size", [WIDE, MIDDLE, NARROW], ids=["desk", "tablet", "phone"])
@run
async def test_names_of_strangers_neither_run_nor_widen_a_page(tmp_path, size):
    async with Callboard(f"sqlite:///{tmp_path / 'board.db'}") as board:
        await packages(board, 3, publisher=HOSTILE, path="/" + HOSTILE + "{}" + "x" * 3000)
        await fleet_of(board, [HOSTILE, LONG, "w" * 100], reason=LONG * 9, offset=1, host=LONG)
        async with (
            served(board) as address, chromium() as browser, looking(browser, address, size) as looker,
        ):  # fmt: skip
            its = f"/subscribers/{'w' * 100}"
            for path in ("/", its, "/packages/1", "/packages/1/content", "/log", "/log/package/1"):
                page = await looker.opens(path)
                assert not await too_wide(page), path
                assert not await barriers(page), path
            assert not looker.complaints  # no script ran, and none was even refused
