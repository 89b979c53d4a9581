"""Real processes, each with an SDK: what one of them does is linked with what another one did."""

import json
import signal
import subprocess
import time
from typing import Any

import pytest

from tests.e2e.conftest import DEADLINE_S, POLL_S, Terminal

SDK = """
from opentelemetry import trace
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import ConsoleSpanExporter, SimpleSpanProcessor


def to_json():
    file = open("spans.jsonl", "a")
    exporter = ConsoleSpanExporter(out=file, formatter=lambda span: span.to_json(indent=None) + "\\n")
    provider = TracerProvider()
    provider.add_span_processor(SimpleSpanProcessor(exporter))
    trace.set_tracer_provider(provider)
"""
COMMAND = "import sdk; sdk.to_json(); from callboard.cli import main; main()"

SERVICE = """
from opentelemetry import trace

from callboard import JobRegistry

jobs = JobRegistry()


@jobs.job("mail/send")
def send(to: str) -> None:
    with trace.get_tracer("service").start_as_current_span("smtp"):
        pass
"""

APART = """
import asyncio
import sys

import sdk
from callboard import Callboard


async def main() -> None:
    async with Callboard(runtime="processes", configure_logging=sdk.to_json) as board:
        sdk.to_json()
        await board.publisher("main").publish("site")
        async with board.subscriber("edge", into="out") as edge:
            await edge.caught_up()


asyncio.run(main())
"""


@pytest.fixture
def traced(terminal: Terminal) -> Terminal:
    (terminal.folder / "sdk.py").write_text(SDK)
    (terminal.folder / "shop.py").write_text(SERVICE)
    return terminal


def spans(terminal: Terminal, *names: str, of: "subprocess.Popen[str] | None" = None) -> list[dict[str, Any]]:
    """The spans with these names, one of each, when all have ended; while this process runs."""
    deadline = time.monotonic() + DEADLINE_S
    while True:
        file = terminal.folder / "spans.jsonl"
        written = file.read_text().splitlines(keepends=True) if file.exists() else []
        found = {(span := json.loads(line))["name"]: span for line in written if line.endswith("\n")}
        if found.keys() >= set(names):
            return [found[name] for name in names]
        assert time.monotonic() < deadline, f"only {sorted(found)} have ended"
        assert of is None or of.poll() is None, f"the process has ended, and of its spans only {sorted(found)}"
        time.sleep(POLL_S)


def end(process: "subprocess.Popen[str]") -> str:
    """Its standard error, when it has ended as it should."""
    _, said = process.communicate(timeout=DEADLINE_S)
    assert process.returncode == 0, said
    return said


def is_linked(its: dict[str, Any], with_: dict[str, Any]) -> bool:
    [link] = its["links"]
    return link["context"]["trace_id"] == with_["context"]["trace_id"] != its["context"]["trace_id"]


def test_an_import_in_another_process_is_linked_with_its_request(traced: Terminal) -> None:
    end(traced.start("publish", "site", script=COMMAND))
    subscriber = traced.start("run", "subscriber", "edge", "--into", "out", script=COMMAND)
    published, imported = spans(traced, "publish main", "import main", of=subscriber)
    subscriber.send_signal(signal.SIGTERM)
    lines = [json.loads(line) for line in end(subscriber).splitlines()]
    assert is_linked(imported, published)
    [line] = [line for line in lines if line["event"] == "package.imported"]
    assert f"0x{line['trace_id']}" == published["context"]["trace_id"]


def test_a_job_in_another_process_is_linked_with_what_added_it(traced: Terminal) -> None:
    end(traced.start("jobs", "add", "mail/send", '"ann"', script=COMMAND))
    worker = traced.start("run", "worker", "shop:jobs", said="worker.log", script=COMMAND)
    added, attempt, smtp = spans(traced, "add mail/send", "run mail/send", "smtp", of=worker)
    worker.send_signal(signal.SIGTERM)
    end(worker)
    assert is_linked(attempt, added)
    assert smtp["parent_id"] == attempt["context"]["span_id"]


def test_actors_in_processes_of_their_own_have_the_trace_and_the_sdk_that_they_are_given(traced: Terminal) -> None:
    end(traced.start(script=APART))
    published, imported = spans(traced, "publish main", "import main")
    assert is_linked(imported, published)
