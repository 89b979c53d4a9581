"""``make console-demo``: the demo's fleet with the console open on it, while actors are being killed.

It prints the address, and plays until Ctrl-C. With ``--once`` it plays once, looks at every page meanwhile, writes
pictures of them, and ends with 0 if every page could be shown and the demo ended well.
"""

import argparse
import asyncio
import os
import re
import subprocess
import sys
from pathlib import Path

from tests.browser.chromium import NARROW, WIDE, chromium, looking

ADDRESS = re.compile(r"the console is at http://127\.0\.0\.1:(\d+)/")
PAGES = {
    "subscriber": "/subscribers/edge-2", "package": "/packages/1", "errors": "/errors", "log": "/log",
    "paths": "/paths", "topology": "/topology", "jobs": "/jobs", "schedules": "/schedules", "plots": "/plots",
    "fleet": "/",
}  # fmt: skip
FIGURES = Path(__file__).resolve().parents[2] / "build" / "console"
SETTLED_S = 60.0


def main() -> int:
    """Play."""
    parser = argparse.ArgumentParser(prog="make console-demo", description=__doc__, allow_abbrev=False)
    parser.add_argument("--once", action="store_true", help="play once, and write pictures of the pages")
    parser.add_argument("--port", type=int, default=0, help="default: any free one")
    parser.add_argument("--figures", type=Path, default=FIGURES, help="where pictures go (default: build/console)")
    given = parser.parse_args()
    if given.once:
        given.figures.mkdir(parents=True, exist_ok=True)
        return asyncio.run(look_once(given.port, given.figures))
    try:
        while subprocess.run(demo(given.port), check=False).returncode == 0:
            continue
    except KeyboardInterrupt:
        return 0
    return 1


def demo(port: int) -> list[str]:
    """The command of the demo."""
    return [sys.executable, "-m", "callboard", "demo", "--edits", "60", "--console", str(port)]


async def look_once(port: int, figures: Path) -> int:
    """Look at each page while the demo plays."""
    environ = os.environ | {"PYTHONUNBUFFERED": "1"}
    playing = await asyncio.create_subprocess_exec(*demo(port), stdout=asyncio.subprocess.PIPE, env=environ)
    assert playing.stdout is not None
    found = None
    while not found:
        line = (await playing.stdout.readline()).decode()
        assert line, "the demo ended before it served a console"
        print(line, end="")
        found = ADDRESS.search(line)
    try:
        wrong = await look(f"http://127.0.0.1:{found[1]}", figures)
        print((await playing.stdout.read()).decode(), end="")
        code = await playing.wait()
    finally:
        if playing.returncode is None:
            playing.kill()
    for each in wrong:
        print(each)
    print(f"console-demo: {len(PAGES)} pages, {len(wrong)} complaints, pictures in {figures}")
    return 1 if wrong else code


async def look(address: str, figures: Path) -> list[str]:
    """What is wrong with the pages."""
    complaints: list[str] = []
    async with chromium() as browser:
        async with looking(browser, address) as first:
            page = await first.opens("/")
            await page.locator("#p-demo").wait_for(timeout=SETTLED_S * 1000)
        for size, kind in ((WIDE, ""), (NARROW, "-phone")):
            async with looking(browser, address, size) as looker:
                for name, path in PAGES.items():
                    page = await looker.opens(path)
                    await page.screenshot(path=figures / f"{name}{kind}.png", full_page=size == WIDE)
                    await page.close()
                complaints += looker.complaints
    return complaints


if __name__ == "__main__":
    sys.exit(main())
