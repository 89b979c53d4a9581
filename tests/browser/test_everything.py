"""A board with something of everything, in a browser: what its clusters, jobs and folds look like."""

from pathlib import Path

import pytest

from tests.browser.chromium import WIDE, chromium, draw, looking
from tests.web.api.served_board import serving
from tests.web.served import run

pytestmark = pytest.mark.browser

PAGES = {
    "topology": "worker-1", "jobs": "nobody/runs", "schedules": "nightly", "folds": "entities",
    "plots": "Behind, packages",
}  # fmt: skip
"""By page, what is on it."""


@run
async def test_pages_show_what_runs_on_the_board(tmp_path: Path):
    with serving(tmp_path) as board:
        async with chromium() as browser, looking(browser, board.url.removesuffix("/api/v1")) as looker:
            for name, what in PAGES.items():
                page = await looker.opens(f"/{name}")
                await page.get_by_text(what).first.wait_for()
                await draw(page, name, WIDE, "light")
            assert not looker.complaints
