"""Spark's view of the demo's log: the queues of the past, an audit, and a picture of it."""

import shutil
import subprocess
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

from callboard.cli.pipeline.jobs import CURRENT
from callboard.cli.pipeline_demo.history import SECOND, Past
from callboard.pipeline.failure import explained
from callboard.pipeline.jobs import audit
from callboard.pipeline.run import Run
from callboard.pipeline.session import open_session
from callboard.pipeline.tables.queues import queue_states
from callboard.pipeline.tables.standings import standings

BROWSERS = ("chromium-headless-shell", "chromium", "chromium-browser", "google-chrome")
"""The first one installed takes the picture."""

PICTURE = "1180,1500"
"""Width and height, in pixels."""

PICTURE_S = 60.0


@dataclass(frozen=True, slots=True)
class Hindsight:
    """The number of compared queues, the differences, and the paths of the report and its picture."""

    queues: int
    differences: tuple[str, ...]
    report: Path
    picture: Path | None


def look_back(folder: Path, past: Past, out: Path, tell: Callable[[str], None]) -> Hindsight:
    """Compare past queues with what the board showed then, and write the audit below ``out``."""
    config = folder / "callboard.toml"
    config.write_text(f'log = "sqlite:///{folder / SECOND}"\n', encoding="utf-8")
    tell("starting Spark")
    with explained():
        spark = open_session("callboard pipeline demo")
        run = Run("demo", spark, {"board": str(config), "archive": str(folder / "archive")}, time.time_ns)
        tell(f"asking for the queues of {len(past.seen)} moments")
        wrong = [line for seen in _queues(run, past) for line in seen]
        tell("who has what, since when?")
        audit(run, out, "/")
        spark.stop()
    report = out / CURRENT / "report.html"
    return Hindsight(sum(len(seen.queues) for seen in past.seen), tuple(wrong), report, _picture(report))


def _queues(run: Run, past: Past) -> Iterator[list[str]]:
    """For each moment, the differences from what the board showed. The log is read once."""
    with run.reading() as (topics, _):
        tables = {name: topics.kept(name) for name in ("discovery", "status", "package")}
        extent = topics.extent("package")
        for seen in past.seen:
            then = {name: table.where(f"offset < {getattr(seen, name)}") for name, table in tables.items()}
            standing = standings(then["discovery"], then["status"], extent)
            rows = queue_states(then["package"], standing).collect()
            found = {row["subscriber"]: (row["position"], row["size"], row["length"]) for row in rows}
            yield [
                f"below offset {seen.package} the queue of {name} was {queue}, and Spark says {found.get(name)}"
                for name, queue in seen.queues.items()
                if found.get(name) != queue
            ]


def _picture(page: Path) -> Path | None:
    """A picture of the page in a browser, if one is installed."""
    browser = next(filter(None, map(shutil.which, BROWSERS)), None)
    if browser is None:
        return None
    picture = page.resolve().with_suffix(".png")
    picture.unlink(missing_ok=True)
    command = [browser, "--headless", "--no-sandbox", "--disable-gpu", "--hide-scrollbars", f"--window-size={PICTURE}"]
    try:
        subprocess.run(  # noqa: S603 - our own page
            [*command, f"--screenshot={picture}", page.resolve().as_uri()],
            capture_output=True, check=False, timeout=PICTURE_S,
        )  # fmt: skip
    except subprocess.TimeoutExpired:
        return None
    return page.with_suffix(".png") if picture.exists() else None
