"""The metrics, as the reference, the dashboard and the alerts name them."""

import asyncio
import json
import re
from collections.abc import Iterator
from contextlib import suppress
from itertools import combinations
from pathlib import Path
from typing import Any

import pytest
import typer
import yaml

from tests.deploy.files import understood
from tests.prometheus.everything import everything, exposed_by

ROOT = Path(__file__).resolve().parents[2]
DASHBOARD: dict[str, Any] = json.loads((ROOT / "deploy" / "grafana" / "callboard.json").read_text(encoding="utf-8"))
ALERTS = yaml.safe_load((ROOT / "deploy" / "prometheus" / "alerts.yml").read_text(encoding="utf-8"))
RULES: list[dict[str, Any]] = ALERTS["groups"][0]["rules"]
PANELS = [panel for panel in DASHBOARD["panels"] if panel["type"] != "row"]
SERIES = re.compile(r"callboard_\w+")
SAMPLE = re.compile(r"(\w+)(?:\{(.*)\})? \S+")
LABEL = re.compile(r'(\w+)="(?:[^"\\]|\\.)*"')


@pytest.fixture(scope="module")
def text(tmp_path_factory: pytest.TempPathFactory) -> str:
    """What a board exposes on which there is something of everything."""

    async def look() -> str:
        async with everything(tmp_path_factory.mktemp("everything")) as (board, _):
            return await exposed_by(board)

    return asyncio.run(look())


def series(text: str) -> dict[str, set[str]]:
    """The labels of each series, by its name."""
    found: dict[str, set[str]] = {}
    for line in text.splitlines():
        if not line.startswith("#"):
            name, labels = SAMPLE.fullmatch(line).groups()
            found.setdefault(name, set()).update(LABEL.findall(labels or ""))
    return found


def rows(text: str) -> Iterator[str]:
    """The row of each family."""
    said = dict(re.findall(r"^# HELP (\w+) (.*)$", text, re.MULTILINE))
    known = series(text)
    for name, kind in re.findall(r"^# TYPE (\w+) (.*)$", text, re.MULTILINE):
        labels = sorted(known[f"{name}_bucket"] - {"le"} if kind == "histogram" else known[name])
        yield f"| `{name}` | {kind} | {', '.join(f'`{label}`' for label in labels)} | {said[name]} |"


def expressions() -> list[str]:
    """All that the dashboard asks."""
    return [target["expr"] for panel in PANELS for target in panel["targets"]]


def test_the_reference_has_every_metric(text: str) -> None:
    page = (ROOT / "docs" / "reference.md").read_text(encoding="utf-8")
    table = page.partition("| metric | type | labels | meaning |\n|---|---|---|---|\n")[2].partition("\n\n")[0]
    assert table.splitlines() == sorted(dict.fromkeys(rows(text)))


def test_the_dashboard_and_the_alerts_name_only_what_is_exposed_with_its_labels(text: str) -> None:
    known = series(text)
    asked = [*expressions(), *(rule["expr"] for rule in RULES)]
    assert len(asked) > 80
    for expression in asked:
        for name, selector in re.findall(r"(callboard_\w+)(?:\{([^}]*)\})?", expression):
            assert name in known, expression
            assert set(re.findall(r"(\w+)=", selector)) <= known[name] | {"board"}, expression


def test_the_dashboard_shows_nearly_every_metric(text: str) -> None:
    shown = {name for expression in expressions() for name in SERIES.findall(expression)}
    families = {name for name in series(text) if not name.endswith(("_sum", "_count"))}
    assert families - shown == {
        "callboard_cohort_bytes", "callboard_cohort_members", "callboard_subscriber_queue",
        "callboard_subscriber_offset", "callboard_subscribers_left_out", "callboard_publishers_left_out",
        "callboard_site_errors", "callboard_site_relayed",
    }  # fmt: skip


def test_the_panels_of_the_dashboard_have_their_own_ids_and_places() -> None:
    every = DASHBOARD["panels"]
    assert len({panel["id"] for panel in every}) == len(every)
    for one, other in combinations([panel["gridPos"] for panel in every], 2):
        apart_x = one["x"] + one["w"] <= other["x"] or other["x"] + other["w"] <= one["x"]
        assert apart_x or one["y"] + one["h"] <= other["y"] or other["y"] + other["h"] <= one["y"]
    sources = {target["datasource"]["uid"] for panel in PANELS for target in panel["targets"]}
    assert sources == {"${datasource}"}
    assert [variable["name"] for variable in DASHBOARD["templating"]["list"]] == ["datasource", "board", "subscriber"]


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule["alert"])
def test_the_summary_of_an_alert_names_a_command_that_is_there(rule: dict[str, Any]) -> None:
    summary = rule["annotations"]["summary"]
    commands = re.findall(r"`callboard ([^`]+)`", summary)
    assert commands
    for words in commands:
        with suppress(typer.BadParameter):  # an argument is missing
            understood(words.split())
    named = set(re.findall(r"\$labels\.(\w+)", summary))
    grouped = re.match(r"(?:max|sum) by \(([^)]*)\)", rule["expr"])
    assert named <= set(grouped[1].split(", ") if grouped else ["instance"])


def test_every_alert_is_tried() -> None:
    tried = (ROOT / "deploy" / "prometheus" / "alerts_test.yml").read_text(encoding="utf-8")
    for rule in RULES:
        assert f'alertname="{rule["alert"]}"' in tried or f"alertname: {rule['alert']}" in tried
