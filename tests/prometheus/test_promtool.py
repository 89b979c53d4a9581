"""Prometheus's own tool accepts the metrics, the alerts and the example of a configuration."""

import asyncio
from pathlib import Path

import pytest

from callboard.testing.servers.prometheus import promtool
from tests.prometheus.everything import everything

FOLDER = Path(__file__).resolve().parents[2] / "deploy" / "prometheus"

pytestmark = pytest.mark.prometheus


def test_the_metrics_of_a_board_have_nothing_to_correct(tmp_path: Path) -> None:
    async def look() -> str:
        async with everything(tmp_path) as (board, _):
            return await board.metrics()

    text = asyncio.run(look())
    done = promtool("check", "metrics", given=text)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
    wrong = promtool("check", "metrics", given=text.replace("callboard_requests_accepted_total", "callboard_requests"))
    assert wrong.returncode != 0, "it finds what is wrong"


@pytest.mark.parametrize(
    "words",
    [("check", "rules", "alerts.yml"), ("test", "rules", "alerts_test.yml"), ("check", "config", "prometheus.yml")],
    ids=" ".join,
)
def test_the_files_are_correct(words: tuple[str, ...]) -> None:
    done = promtool(*words, folder=FOLDER)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "SUCCESS" in done.stdout
