"""What the API answers, and what the command line prints with --json, is what the document says, field by field."""

import json
import os
from functools import cache
from typing import Any

import pytest
from jsonschema import Draft202012Validator

from callboard.web.api.openapi import document, openapi
from callboard.web.api.reads.table import FOLLOWS, READS
from tests.tidy.sources import ROOT
from tests.warm_start import WarmStart
from tests.web.api.served_board import DEADLINE_S, Served

PINNED = ROOT / "docs" / "schema" / "api-v1.json"

WITHOUT_COMMAND = {"subscriber", "queue_entry", "cohorts", "folds"}
"""What the commands show as a part of something else."""

ASKED: dict[str, tuple[str, tuple[str, ...]]] = {
    "status": ("/status?needs=true&sort=lag", ("status", "--needs")),
    "subscriber": ("/subscribers/stuck", ()),
    "ready": ("/subscribers/stuck/ready", ("ready", "stuck")),
    "queue": ("/subscribers/stuck/queue?limit=1", ("queue", "stuck", "--limit", "1")),
    "explain": ("/subscribers/careless/explanation?path=/index.html", ("explain", "careless", "/index.html")),
    "queue_entry": ("/queue/callboard.package@1", ()),
    "errors": ("/errors?subscriber=careless&limit=2", ("errors", "careless", "--limit", "2")),
    "cohorts": ("/cohorts?publisher=main", ()),
    "publisher_log": ("/publishers/main/log", ("publisher-log", "main")),
    "folds": ("/folds", ()),
    "log_list": ("/log/status?text=disk&limit=2", ("log", "grep", "disk", "--topic", "status", "--limit", "2")),
    "log_show": ("/log/package/1", ("log", "show", "1")),
    "events_packages": ("/events/packages?after=-1&kind=failed", ("events", "--after", "-1", "--kind", "failed")),
    "events_list": ("/events/published?topic=shop/*", ("events", "list", "shop/*")),
    "events_listeners": ("/events/listeners", ("events", "listeners")),
    "jobs_list": ("/jobs?state=open&state=history&where=size>=3", ("jobs", "--all", "--where", "size>=3")),
    "jobs_stats": ("/jobs/stats", ("jobs", "stats")),
    "jobs_queues": ("/jobs/queues", ("jobs", "queues")),
    "jobs_workers": ("/jobs/workers", ("jobs", "workers")),
    "jobs_show": ("/jobs/{job}", ("jobs", "show", "{job}")),
    "jobs_history": ("/jobs/{job}/history", ("jobs", "history", "{job}")),
    "schedules_list": ("/schedules?topic=mail/*", ("schedules", "--topic", "mail/*")),
    "schedules_next": ("/schedules/nightly/ticks?limit=3", ("schedules", "next", "nightly", "3")),
    "topology_show": ("/topology", ("topology",)),
    "topology_history": ("/topology/history", ("topology", "history")),
    "topology_explain": ("/topology/views/{epoch}", ("topology", "explain", "{epoch}")),
}
"""By operation: a request that has something in its answer, and the command that asks the same."""


@cache
def strict() -> dict[str, Any]:
    """The document, with no room for fields that it does not name."""

    def closed(schema: Any) -> Any:
        if isinstance(schema, list):
            return [closed(each) for each in schema]
        if not isinstance(schema, dict):
            return schema
        made = {name: closed(each) for name, each in schema.items()}
        return {"additionalProperties": False} | made if "properties" in made else made

    return closed(openapi())


def check(data: Any, schema: dict[str, Any]) -> None:
    Draft202012Validator(schema | {"components": strict()["components"]}).validate(data)


def schema_of(name: str) -> dict[str, Any]:
    """That of the envelope of an operation."""
    [found] = [each["get"] for each in strict()["paths"].values() if each["get"]["operationId"] == name]
    return found["responses"]["200"]["content"]["application/json"]["schema"]


@pytest.fixture
def known(served: Served) -> dict[str, str]:
    """What requests name."""
    jobs = served.data("/jobs?state=succeeded&topic=mail/send")["items"]
    return {"{job}": str(jobs[0]["id"]), "{epoch}": str(served.data("/topology")["epoch"])}


def typed(warm_start: WarmStart, served: Served, *words: str) -> dict[str, Any]:
    done = warm_start.run((*words, "--json"), served.folder, os.environ, "", DEADLINE_S)
    assert done.returncode in (0, 1), done.stderr
    return json.loads(done.stdout)


def filled(text: str, known: dict[str, str]) -> str:
    for name, value in known.items():
        text = text.replace(name, value)
    return text


def test_every_operation_is_asked_here():
    assert ASKED.keys() | {"site"} == {each.name for each in READS}  # which test_sites.py asks
    assert {name for name, (_, words) in ASKED.items() if not words} == WITHOUT_COMMAND


@pytest.mark.proves("F104")
@pytest.mark.parametrize("name", ASKED)
def test_answers_of_the_api_are_as_the_document_says(served: Served, known: dict[str, str], name: str):
    answer = served.ask(filled(ASKED[name][0], known))
    assert answer.status_code == 200, answer.text
    envelope = answer.json()
    check(envelope, schema_of(name))
    assert envelope["status"] == ("attention" if name == "ready" and not envelope["data"]["ready"] else "ok")
    assert envelope["data"], "it has something in it"
    assert answer.headers["content-type"] == "application/json"
    assert (answer.headers["cache-control"], answer.headers["x-content-type-options"]) == ("no-store", "nosniff")


@pytest.mark.proves("F104")
@pytest.mark.parametrize("name", [name for name in ASKED if name not in WITHOUT_COMMAND])
def test_commands_print_what_the_document_says(served: Served, known: dict[str, str], warm_start: WarmStart, name: str):
    envelope = typed(warm_start, served, *(filled(word, known) for word in ASKED[name][1]))
    assert envelope["status"] == ("attention" if name == "ready" and not envelope["data"]["ready"] else "ok")
    if name == "status":
        check({**envelope, "data": envelope["data"].pop("folds")}, schema_of("folds"))
        assert envelope["data"].pop("retention_forecast") == []
        assert envelope["data"].pop("sites") == []
    check(envelope, schema_of(name))
    assert envelope["data"], "it has something in it"


def test_the_schema_that_is_published_is_the_one_that_is_served(served: Served):
    assert PINNED.read_text() == document(), "run `make api-schema`, and see docs/api.md for what may change"
    assert served.ask("/openapi.json").text == document()


def test_operations_have_names_and_all_that_they_take_is_described():
    operations = [each["get"] for each in openapi()["paths"].values()]
    assert len({each["operationId"] for each in operations}) == len(operations) == len(READS) + len(FOLLOWS)
    for each in operations:
        assert each["summary"].endswith(".")
        assert {"200", "400", "401", "403", "404", "500", "503"} == each["responses"].keys()
        assert all(parameter["description"] and parameter["schema"] for parameter in each["parameters"])


def test_a_field_that_the_document_does_not_name_is_found():
    with pytest.raises(Exception, match="Additional properties"):
        check({"version": 1, "status": "ok", "data": [], "diagnostics": [{"code": "a", "message": "b", "c": 1}]},
              schema_of("folds"))  # fmt: skip
