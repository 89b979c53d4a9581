"""Chromium, which looks at the console and tells what went wrong while it did."""

import os
import shutil
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from playwright.async_api import Browser, BrowserContext, ConsoleMessage, Page, async_playwright

WIDE, MIDDLE, NARROW = (1440, 900), (1024, 768), (375, 812)
"""A desk, a tablet and a phone."""

FIGURES = Path(__file__).parents[2] / "docs" / "figures"
OPTIONS = ["--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage"]
SERIOUS = ("serious", "critical")


@asynccontextmanager
async def chromium() -> AsyncIterator[Browser]:
    """The browser of this system. Without one, the test fails."""
    path = shutil.which("chromium") or shutil.which("google-chrome")
    assert path, "Chromium is not installed (Debian: apt install chromium)"
    async with async_playwright() as playwright:
        browser = await playwright.chromium.launch(executable_path=path, args=OPTIONS)
        try:
            yield browser
        finally:
            await browser.close()


class Looker:
    """Somebody in front of a window; ``complaints`` are what the browser reported."""

    def __init__(self, context: BrowserContext, address: str) -> None:
        self.context, self.address = context, address
        self.complaints: list[str] = []

    async def opens(self, path: str) -> Page:
        """A new tab with the page."""
        page = await self.context.new_page()
        page.on("console", self._hear)
        page.on("pageerror", lambda error: self.complaints.append(f"{path}: {error}"))
        await page.goto(self.address + path)
        return page

    def _hear(self, message: ConsoleMessage) -> None:
        if message.type in ("error", "warning"):
            self.complaints.append(f"{message.location.get('url')}: {message.text}")


@asynccontextmanager
async def looking(
    browser: Browser, address: str, size: tuple[int, int] = WIDE, scheme: str = "light"
) -> AsyncIterator[Looker]:
    """Somebody with a window of this size."""
    width, height = size
    view: Any = {"viewport": {"width": width, "height": height}, "color_scheme": scheme}
    context = await browser.new_context(**view)
    try:
        yield Looker(context, address)
    finally:
        await context.close()


async def draw(page: Page, name: str, size: tuple[int, int], scheme: str) -> None:
    """Write a picture of the page to docs/figures, if the variable ``CALLBOARD_FIGURES`` is set."""
    if os.environ.get("CALLBOARD_FIGURES") and scheme == "light":
        kind = "" if size == WIDE else "-phone"
        await page.screenshot(path=FIGURES / f"console-{name}{kind}.png", full_page=size == WIDE)


async def barriers(page: Page) -> list[str]:
    """What axe-core finds that would keep somebody from using the page."""
    spec = find_spec("axe_playwright_python")
    assert spec is not None
    assert spec.origin is not None
    await page.evaluate((Path(spec.origin).parent / "axe.min.js").read_text())
    found = await page.evaluate("axe.run({resultTypes: ['violations']})")
    return [
        f"{each['id']}: {each['help']}: {each['nodes'][0]['html'][:200]}"
        for each in found["violations"]
        if each["impact"] in SERIOUS
    ]


async def too_wide(page: Page) -> list[str]:
    """What is wider than the window, so that the page would scroll sideways."""
    return await page.evaluate(
        """() => document.documentElement.scrollWidth <= innerWidth ? [] : [...document.querySelectorAll("*")]
            .filter(each => each.getBoundingClientRect().right > innerWidth + 1)
            .map(each => each.outerHTML.slice(0, 99))"""
    )
