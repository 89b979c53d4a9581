"""Every question of the dashboard, asked of a Prometheus that has scraped a board."""

import asyncio
from pathlib import Path

import pytest

from callboard.http_server import Server
from callboard.testing.servers.prometheus import PrometheusServer, prometheus_server
from callboard.web import health_app
from tests.prometheus.everything import everything
from tests.prometheus.test_names import PANELS, expressions

pytestmark = pytest.mark.prometheus

SCRAPE = """
global: {{scrape_interval: 1s}}
scrape_configs:
  - job_name: callboard
    static_configs: [{{targets: ["127.0.0.1:{port}"], labels: {{board: site}}}}]
"""

ONLY_IN_TROUBLE = ("> 0", "callboard_untrusted_records", "callboard_jobs_problem", "callboard_cluster_refused")
"""Questions with these have an answer only while something is wrong."""


def asked(server: PrometheusServer, expression: str) -> int:
    """How many series answer. Raises for a question that is wrong."""
    for variable, value in (("$__rate_interval", "20s"), ("$board", ".*"), ("$subscriber", ".*")):
        expression = expression.replace(variable, value)
    return len(server.value(expression))


async def scraped(server: PrometheusServer) -> None:
    """Until it has scraped twice, as rates need."""
    while True:
        found = await asyncio.to_thread(server.value, "count_over_time(callboard_build_info[1m])")
        if found and int(found[0]["value"][1]) >= 2:
            return
        await asyncio.sleep(0.1)


def test_every_question_of_the_dashboard_is_understood_and_most_have_an_answer(tmp_path: Path) -> None:
    async def work() -> dict[str, int]:
        async with everything(tmp_path) as (board, site):
            endpoints = Server(health_app(board, site), ("127.0.0.1", 0))
            await endpoints.start()
            try:
                with prometheus_server(SCRAPE.format(port=endpoints.port)) as server:
                    await scraped(server)
                    return {each: await asyncio.to_thread(asked, server, each) for each in expressions()}
            finally:
                await endpoints.stop()

    answers = asyncio.run(work())
    silent = [expression for expression, count in answers.items() if not count]
    assert not [each for each in silent if not any(word in each for word in ONLY_IN_TROUBLE)]
    assert len(answers) > len(PANELS)
