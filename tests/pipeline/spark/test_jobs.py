"""The projections and the audit of a log that real subscribers wrote, by the command line's own runners."""

import asyncio
import json
from contextlib import suppress
from pathlib import Path

import pytest

from callboard import Callboard, NotAllImported
from callboard.pipeline.jobs import audit, rebuild
from callboard.pipeline.run import Run


def fail(_):
    raise RuntimeError("<no> room")


async def a_run(url: str, folder: Path) -> None:
    """One has both packages, one gave both up, one is behind by the second."""
    (folder / "site" / "blog").mkdir(parents=True)
    (folder / "site" / "blog" / "a.html").write_text("a")
    async with Callboard(url) as board:
        await board.publisher("blue").publish(folder / "site", ["/blog"], user="ada")
        async with board.subscriber("behind", folder / "behind") as agent:
            await agent.caught_up()
        await board.publisher("blue").publish(folder / "site", ["/blog/a.html"], user="eve")
        async with board.subscriber("has", folder / "has", editable=True) as agent:
            await agent.caught_up()
        async with board.subscriber("fails", folder / "fails", max_retries=0, before_import=fail) as agent:
            with suppress(NotAllImported):
                await agent.caught_up()


@pytest.fixture
def run(spark, sqlite_log, tmp_path) -> Run:
    asyncio.run(a_run(sqlite_log.url, tmp_path))
    config = tmp_path / "callboard.toml"
    config.write_text(f'log = "{sqlite_log.url}"\n')
    return Run("test", spark, {"board": str(config)}, clock=iter(range(1, 99)).__next__)


@pytest.mark.timeout(600)
def test_projections_show_imports_and_failures_and_replace_the_old_ones_atomically(run, tmp_path):
    out = tmp_path / "tables"
    report = rebuild(run, out)
    tables = {
        name: [row.asDict() for row in run.spark.read.parquet(str(out / "current" / name)).collect()]
        for name in report.tables
    }
    assert {row["subscriber"]: row["position"] for row in tables["standing"]} == {"behind": 1, "has": 2, "fails": 2}
    assert {row["subscriber"]: row["size"] for row in tables["queue"]} == {"behind": 1, "has": 0, "fails": 0}
    rates = {row["subscriber"]: (row["imported"], row["removed_failed"], row["failure_rate"])
             for row in tables["failure_rate"]}  # fmt: skip
    assert rates == {"behind": (1, 0, 0.0), "has": (2, 0, 0.0), "fails": (0, 2, 1.0)}
    assert {(row["subscriber"], row["offset"]) for row in tables["error_queue"]} == {("fails", 1), ("fails", 2)}
    [latency] = [row for row in tables["latency"] if row["subscriber"] == "has"]
    assert (latency["basis"], latency["packages"]) == ("status", 2)
    assert 0 < latency["p50_s"] <= latency["p99_s"] < 300
    assert {row["subscriber"] for row in tables["queue_size"]} == {"behind", "has", "fails"}
    assert json.loads((out / "current" / "report.json").read_text())["topics"]["package"]["records"] == 2

    (out / "run-00000000000000000000").mkdir()  # as a run leaves it behind that was killed
    audit(run, out, "/blog/a.html")
    assert len([path for path in out.iterdir() if path.name.startswith("run-")]) == 1
    delivery = run.spark.read.parquet(str(out / "current" / "delivery")).collect()
    assert {(row["subscriber"], row["offset"]): row["state"] for row in delivery} == {
        ("behind", 1): "has", ("behind", 2): "not yet", ("has", 1): "has", ("has", 2): "has",
        ("fails", 1): "removed_failed", ("fails", 2): "removed_failed",
    }  # fmt: skip
    assert all(row["since_ns"] for row in delivery if row["state"] == "has")
    page = (out / "current" / "report.html").read_text()
    assert "ada" in page
    assert "&lt;no&gt; room" in page
    assert "http" not in page, "the page needs nothing from elsewhere"
