"""What a trace shows of a package, from the request to the hooks of each subscriber."""

import asyncio
import time
from collections.abc import Coroutine
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import structlog
from opentelemetry.sdk.trace.sampling import ALWAYS_OFF
from opentelemetry.trace import StatusCode
from structlog.testing import LogCapture

from callboard import Backoff, Callboard, HookCall
from callboard.messages.distribution.topic_messages import Kind, PackageMessage
from callboard.messages.headers import new_record
from callboard.telemetry import add_trace_ids
from tests.unit.telemetry.conftest import Spans, ids, install, linked, parent

DEADLINE_S = 60.0
SOON = Backoff(first_s=0.01, max_s=0.01)


@pytest.fixture
def site(tmp_path: Path) -> Path:
    (tmp_path / "site").mkdir()
    (tmp_path / "site" / "a.txt").write_text("one")
    return tmp_path / "site"


def run(work: Coroutine[Any, Any, None]) -> None:
    async def limited() -> None:
        async with asyncio.timeout(DEADLINE_S):
            await work

    asyncio.run(limited())


async def traceparents(board: Callboard) -> list[str]:
    """Those of all packages on the log."""
    topic = board.settings.topics.package
    return [each.header("traceparent") for each in await board.log.read(topic, (await board.log.bounds(topic)).first)]


def test_an_import_is_linked_with_the_request_that_led_to_it(site: Path, spans: Spans) -> None:
    async def scenario() -> None:
        async with Callboard("memory:", base=site.parent) as board, board.subscriber("edge", into="into") as edge:
            with spans.tracer.start_as_current_span("request"):
                package = await board.publisher("main").publish(site)
            await edge.caught_up()
            request, publish, imported = spans.one("request"), spans.one("publish main"), spans.one("import main")
            assert parent(publish) == ids(request)
            assert linked(imported) == [ids(publish)]
            assert parent(imported) is None
            assert imported.context.trace_id != publish.context.trace_id
            assert publish.attributes == {
                "messaging.system": "callboard", "messaging.operation.type": "send",
                "messaging.operation.name": "publish", "messaging.destination.name": "main",
                "messaging.message.id": package.id, "callboard.publisher": "main", "callboard.kind": "ADD",
                "callboard.offset": package.offset, "callboard.outcome": "accepted",
            }  # fmt: skip
            assert imported.attributes == {
                "messaging.system": "callboard", "messaging.operation.type": "process",
                "messaging.operation.name": "import", "messaging.destination.name": "main",
                "messaging.message.id": package.id, "messaging.consumer.group.name": "edge",
                "callboard.subscriber": "edge", "callboard.publisher": "main", "callboard.kind": "ADD",
                "callboard.offset": package.offset, "callboard.attempt": 1, "callboard.outcome": "imported",
            }  # fmt: skip

    run(scenario())


def test_each_package_of_a_batch_has_its_own_span_and_hooks_run_within_it(site: Path, spans: Spans) -> None:
    def before(call: HookCall) -> None:
        with spans.tracer.start_as_current_span(f"before {call.offset}"):
            pass

    async def after(call: HookCall) -> None:
        with spans.tracer.start_as_current_span(f"after {call.offset}"):
            await asyncio.sleep(0)

    async def scenario() -> None:
        async with Callboard("memory:", base=site.parent) as board:
            main = board.publisher("main")
            packages = [await main.publish(site, full=True, metadata={"n": str(n)}) for n in range(3)]
            edge = board.subscriber("edge", into="into", before_import=before, after_import=after, coalesce=False)
            async with edge:
                await edge.caught_up()
            published, imported, hooks = (spans.named(f"{what} main") for what in ("publish", "import", "hook"))
            assert [linked(span) for span in imported] == [[ids(span)] for span in published]
            assert {parent(span) for span in hooks} == {ids(span) for span in imported}
            at = {span.attributes["callboard.offset"]: span for span in imported}
            after_it = {span.attributes["callboard.offset"]: span for span in hooks}
            for package in packages:
                assert parent(spans.one(f"before {package.offset}")) == ids(at[package.offset])
                assert parent(spans.one(f"after {package.offset}")) == ids(after_it[package.offset])

    run(scenario())


@pytest.mark.parametrize("text", ["the cache is away", "\udcff\x1b[2J"])
def test_an_import_that_fails_says_why_and_its_retry_has_a_span_of_its_own(
    site: Path, spans: Spans, text: str
) -> None:
    def fail_once(call: HookCall) -> None:
        if call.attempt == 1:
            raise ValueError(text)

    async def scenario() -> None:
        async with Callboard("memory:", base=site.parent) as board:
            await board.publisher("main").publish(site)
            async with board.subscriber("edge", into="into", before_import=fail_once, retry=SOON) as edge:
                await edge.caught_up()
        failed, imported = spans.named("import main")
        assert (failed.attributes["callboard.outcome"], imported.attributes["callboard.outcome"]) == (
            "failed", "imported"
        )  # fmt: skip
        assert (failed.attributes["callboard.attempt"], imported.attributes["callboard.attempt"]) == (1, 2)
        assert failed.status.status_code is StatusCode.ERROR
        assert failed.attributes["error.type"] == "HookFailed"
        [event] = failed.events
        for told in (failed.status.description, *event.attributes.values()):
            assert told.encode()
            assert "\x1b" not in told
        assert "ValueError" in event.attributes["exception.message"]
        assert linked(failed) == linked(imported) == [ids(spans.one("publish main"))]

    run(scenario())


def test_a_request_that_is_refused_says_why(site: Path, spans: Spans) -> None:
    async def scenario() -> None:
        async with Callboard("memory:", base=site.parent) as board:
            with pytest.raises(Exception, match="nowhere"):
                await board.publisher("main").publish(site, ["/nowhere"])
        assert spans.one("publish main").attributes["callboard.outcome"] == "failed"

    run(scenario())


@pytest.mark.parametrize("header", ["no trace", "00-" + "0" * 32 + "-" + "0" * 16 + "-01", "9" * 10_000, "a\u202eb"])
def test_a_header_that_names_no_span_is_ignored(site: Path, spans: Spans, header: str) -> None:
    async def scenario() -> None:
        async with Callboard("memory:", base=site.parent) as board, board.subscriber("edge", into="into") as edge:
            message = PackageMessage(
                publisher_instance="i", publisher="main", package_id="p", kind=Kind.INVALIDATE, paths=("/a",)
            )
            record = new_record(message, record_id="p", time_ns=time.time_ns(), producer="test")
            hostile = replace(record, headers=(*record.headers, ("traceparent", header)))
            await board.log.append(board.settings.topics.package, [hostile])
            await edge.caught_up()
        assert linked(spans.one("import main")) == []

    run(scenario())


def test_what_is_not_sampled_says_so_to_others_and_is_not_recorded(
    site: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    spans = install(monkeypatch, Spans(ALWAYS_OFF))

    async def scenario() -> None:
        async with Callboard("memory:", base=site.parent) as board, board.subscriber("edge", into="into") as edge:
            await board.publisher("main").publish(site)
            await edge.caught_up()
            [header] = await traceparents(board)
        assert int(header[-2:], 16) & 1 == 0
        assert spans.kept.get_finished_spans() == ()

    run(scenario())
    spans.provider.shutdown()


def test_without_an_sdk_no_header_is_written(site: Path) -> None:
    async def scenario() -> None:
        async with Callboard("memory:", base=site.parent) as board, board.subscriber("edge", into="into") as edge:
            await board.publisher("main").publish(site)
            await edge.caught_up()
            assert await traceparents(board) == [""]

    run(scenario())


def test_log_lines_have_the_trace_of_their_request_and_no_other(site: Path, spans: Spans) -> None:
    lines = LogCapture()
    structlog.configure(processors=[add_trace_ids, lines])

    def hook(_: HookCall) -> None:
        structlog.get_logger().info("cache.purged")

    async def scenario() -> None:
        async with Callboard("memory:", base=site.parent) as board:
            with spans.tracer.start_as_current_span("the first request starts the agent"):
                await board.publisher("main").publish(site)
            await board.publisher("main").delete(["/a.txt"])
            with spans.tracer.start_as_current_span("start"):
                async with board.subscriber("edge", into="into", after_import=hook, coalesce=False) as edge:
                    await edge.caught_up()

    run(scenario())
    found = {name: [line for line in lines.entries if line["event"] == name] for name in
             ("package.appended", "package.imported", "cache.purged")}  # fmt: skip
    first, second = (f"{span.context.trace_id:032x}" for span in spans.named("publish main"))
    assert [line["trace_id"] for line in found["package.appended"]] == [first, second]
    assert [line["trace_id"] for line in found["package.imported"]] == [first]
    assert [(line["trace_id"], line["span_id"]) for line in found["cache.purged"]] == [
        (f"{span.context.trace_id:032x}", f"{span.context.span_id:016x}") for span in spans.named("hook main")
    ]
    others = [line for line in lines.entries if line["event"] not in found and "trace_id" in line]
    assert others == [], "agents outlive the request that starts them"
