"""What the endpoints say of a board, and of what a service runs on it."""

import asyncio
from pathlib import Path
from typing import Any

import httpx
import pytest
from starlette.applications import Starlette
from starlette.routing import Mount

from callboard import Callboard, sync
from callboard.actors.runtime.embedded import embedded
from callboard.actors.runtime.supervision import Limits
from callboard.board.jobs.board_jobs import BoardJobs
from callboard.errors import ConfigError, LogUnavailable
from callboard.http_server import Server
from callboard.version import __version__
from callboard.web import health_app
from tests.web.endpoints.served import HOST, play, served, until

SOON = {"ready_idle_s": 0.0}


async def answers(client: httpx.AsyncClient) -> dict[str, int]:
    return {path: (await client.get(path)).status_code for path in ("/livez", "/readyz", "/healthz", "/metrics")}


async def ready(client: httpx.AsyncClient) -> bool:
    return (await client.get("/readyz")).status_code == 200


@pytest.mark.proves("F99")
def test_a_publisher_serves_its_figures(tmp_path: Path) -> None:
    async def scenario(board: Callboard) -> None:
        site = board.publisher("site")
        await site.test()
        async with served(board, site) as client:
            answer = await client.get("/metrics")
        assert answer.headers["content-type"] == "text/plain; version=0.0.4; charset=utf-8"
        assert 'callboard_requests_accepted_total{publisher="site"} 1.0\n' in answer.text
        assert f'callboard_build_info{{version="{__version__}"}} 1.0\n' in answer.text

    play(scenario, tmp_path)


def test_a_publisher_is_ready_once_it_is_started_and_the_log_can_be_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("callboard.web.endpoints.shared.SHARED_S", 0.0)

    async def away(*_: Any) -> Any:
        raise LogUnavailable("the disk of the log is <gone>\x1b[2J")

    async def hang(*_: Any) -> Any:
        await asyncio.Event().wait()

    async def scenario(board: Callboard) -> None:
        site = board.publisher("site")
        async with served(board, site) as client:
            assert await answers(client) == {"/livez": 200, "/readyz": 503, "/healthz": 503, "/metrics": 200}
            assert (await client.get("/readyz")).text == "publisher site: it is not started\n"
            await site.start()
            assert await answers(client) == {"/livez": 200, "/readyz": 200, "/healthz": 200, "/metrics": 200}
            for method in ("bounds", "read", "append", "wait", "identity"):
                monkeypatch.setattr(board.log, method, away)
            assert await answers(client) == {"/livez": 200, "/readyz": 503, "/healthz": 503, "/metrics": 503}
            said = (await client.get("/readyz")).text
            assert said == "the disk of the log is <gone>\\u001b[2J\n"
            assert (await client.get("/metrics")).text == said
            for method in ("bounds", "read", "append", "wait", "identity"):
                monkeypatch.setattr(board.log, method, hang)
            monkeypatch.setattr("callboard.web.endpoints.app.METRICS_S", 2.0)
            async with asyncio.timeout(20):
                assert await answers(client) == {"/livez": 200, "/readyz": 503, "/healthz": 503, "/metrics": 503}
            assert "does not answer within" in (await client.get("/readyz")).text
            monkeypatch.undo()
            await until(lambda: ready(client))

    play(scenario, tmp_path)


def test_a_subscriber_is_ready_once_it_may_serve_and_says_what_it_waits_for(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("callboard.web.endpoints.shared.SHARED_S", 0.0)
    (tmp_path / "site").mkdir()
    (tmp_path / "site" / "a").touch()
    may_import = asyncio.Event()

    async def hold(_: Any) -> None:
        await may_import.wait()

    async def scenario(board: Callboard) -> None:
        await board.publisher("site").publish(tmp_path / "site")
        edge = board.subscriber("edge-1", tmp_path / "out", before_import=hold, **SOON)
        async with served(board, edge) as client:
            assert await answers(client) == {"/livez": 200, "/readyz": 503, "/healthz": 503, "/metrics": 200}
            async with edge:
                assert (await client.get("/livez")).status_code == 200
                answer = await client.get("/readyz")
                assert answer.status_code == 503
                assert answer.text.startswith("subscriber edge-1: it is not ready yet, and ")
                may_import.set()
                await edge.until_ready()
                assert await answers(client) == {"/livez": 200, "/readyz": 200, "/healthz": 200, "/metrics": 200}
            assert (await client.get("/readyz")).text == "subscriber edge-1: it is not started\n"

    play(scenario, tmp_path)


def test_subscribers_serve_only_what_they_know_of_themselves(tmp_path: Path) -> None:
    (tmp_path / "site").mkdir()
    (tmp_path / "site" / "a").touch()

    async def scenario(board: Callboard) -> None:
        site, other = board.publisher("site"), board.subscriber("edge-2", tmp_path / "out-2")
        await site.publish(tmp_path / "site")
        async with other, board.subscriber("edge-1", tmp_path / "out") as edge:
            await edge.caught_up()
            async with served(board, edge) as client:
                own = (await client.get("/metrics")).text
            async with served(board, edge, site) as client:
                whole = (await client.get("/metrics")).text
        assert 'callboard_subscriber_state{state="idle",subscriber="edge-1"} 1.0\n' in own
        assert 'callboard_subscriber_latency_seconds_count{subscriber="edge-1"} 1.0\n' in own
        assert 'callboard_topic_end_offset{topic="callboard.package"} 2.0\n' in own
        for name in ("edge-2", "callboard_subscriber_errors", "callboard_subscriber_needs", "_lag_", "_queue"):
            assert name not in own, "a subscriber does not know that of itself"
            assert name in whole

    play(scenario, tmp_path)


def test_a_subscriber_that_has_failed_is_not_alive(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(embedded, "Limits", lambda: Limits(backoff_s=(0.0,), max_restarts=0))
    monkeypatch.setattr("callboard.web.endpoints.shared.SHARED_S", 0.0)

    async def scenario(board: Callboard) -> None:
        edge = board.subscriber("edge-1", tmp_path / "out")
        async with served(board, edge) as client:
            agent = await edge.start()
            await agent.kill("importer")

            async def failed() -> bool:
                return (await client.get("/livez")).status_code == 503

            await until(failed)
            answer = await client.get("/livez")
            assert answer.text.startswith("subscriber edge-1: it has failed: ")
            detail = await client.get("/healthz")
            assert detail.json()["status"] == "error"
            assert detail.json()["diagnostics"][0]["code"] == "failed"
            assert (await client.get("/metrics")).status_code == 503
            await edge.stop()

    play(scenario, tmp_path)


def test_a_worker_is_ready_while_it_is_a_member_and_takes_jobs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("callboard.web.endpoints.shared.SHARED_S", 0.0)

    async def scenario(board: Callboard) -> None:
        jobs: BoardJobs = board.jobs
        worker = jobs.worker({"a": lambda: None}, instance="one")
        async with served(board, worker) as client:
            assert "it is not started" in (await client.get("/readyz")).text
            async with worker:
                await until(lambda: ready(client))
                detail = (await client.get("/healthz")).json()
                assert detail["data"]["parts"] == [
                    {"kind": "worker", "name": "one", "state": "working", "ready": True}
                ]  # fmt: skip
                await worker.pause()
                assert (await client.get("/readyz")).text == "worker one: it is paused\n"
                await worker.resume()
                assert await ready(client)
                for task in worker._work:
                    task.cancel()
                await asyncio.wait(worker._work)
                answer = await client.get("/livez")
                assert answer.status_code == 503
                assert answer.text.startswith("worker one: it has failed; ")

    play(scenario, tmp_path)


def test_a_subscriber_that_is_busy_is_neither_dead_nor_less_ready(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("callboard.web.endpoints.part.ANSWER_S", 1e-9)
    monkeypatch.setattr("callboard.web.endpoints.shared.SHARED_S", 0.0)

    async def scenario(board: Callboard) -> None:
        async with board.subscriber("edge-1", tmp_path / "out", **SOON) as edge, served(board, edge) as client:
            await edge.until_ready()
            assert (await client.get("/livez")).status_code == 200
            answer = await client.get("/healthz")
            assert (answer.status_code, answer.json()["data"]["parts"][0]["state"]) == (200, "busy")

    play(scenario, tmp_path)


@pytest.mark.parametrize("part", ["edge-1", None, 7, Callboard])
def test_what_is_no_part_is_refused_at_once(part: Any, tmp_path: Path) -> None:
    async def scenario(board: Callboard) -> None:
        with pytest.raises(ConfigError, match=r"a part is .*, but should be a publisher, a subscriber or a worker"):
            health_app(board, part)

    play(scenario, tmp_path)


@pytest.mark.parametrize("board", [None, "memory:", sync.Callboard("memory:")])
def test_what_is_no_board_is_refused_at_once(board: Any) -> None:
    with pytest.raises(ConfigError, match=r"board is .*, but should be a Callboard"):
        health_app(board)


def test_the_detail_says_what_runs_and_what_is_wrong_with_it(tmp_path: Path) -> None:
    async def scenario(board: Callboard) -> None:
        async with served(board, board.publisher("site"), board.subscriber("edge-1", tmp_path / "out")) as client:
            answer = await client.get("/healthz")
        assert answer.json() == {
            "version": 1,
            "status": "attention",
            "data": {
                "callboard": __version__,
                "log_readable": True,
                "parts": [
                    {"kind": "publisher", "name": "site", "state": "stopped", "ready": False},
                    {"kind": "subscriber", "name": "edge-1", "state": "stopped", "ready": False},
                ],
            },
            "diagnostics": [
                {"code": "not_ready", "message": "publisher site: it is not started"},
                {"code": "not_ready", "message": "subscriber edge-1: it is not started"},
            ],
        }
        assert answer.headers["cache-control"] == "no-store"

    play(scenario, tmp_path)


def test_many_scrapers_share_one_reading_for_a_second(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    async def scenario(board: Callboard) -> None:
        metrics, readings = board.metrics, []

        async def counting(timeout_s: float) -> str:
            readings.append(timeout_s)
            return await metrics(timeout_s)

        monkeypatch.setattr(board, "metrics", counting)
        async with served(board) as client:
            found = await asyncio.gather(*(client.get("/metrics") for _ in range(30)))
            assert {answer.status_code for answer in found} == {200}
            assert len({answer.text for answer in found}) == len(readings)
            assert len(readings) <= 2, "one more if a second has passed"
            monkeypatch.setattr("callboard.web.endpoints.shared.SHARED_S", 0.0)
            await until(lambda: asked_again(client, readings))

    async def asked_again(client: httpx.AsyncClient, readings: list[float]) -> bool:
        before = len(readings)
        await client.get("/metrics")
        return len(readings) > before

    play(scenario, tmp_path)


def test_a_service_mounts_the_endpoints_in_its_own_application(tmp_path: Path) -> None:
    async def scenario(board: Callboard) -> None:
        app = Starlette(routes=[Mount("/board", health_app(board))])
        server = Server(app, (HOST, 0))
        await server.start()
        try:
            async with httpx.AsyncClient(base_url=f"http://{HOST}:{server.port}/board", trust_env=False) as client:
                assert await answers(client) == {"/livez": 200, "/readyz": 200, "/healthz": 200, "/metrics": 200}
        finally:
            await server.stop()

    play(scenario, tmp_path)
