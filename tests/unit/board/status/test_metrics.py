"""The figures for Prometheus."""

import re
from dataclasses import replace
from typing import Any

import pytest

from callboard.backends.log import Bounds
from callboard.board.read.status.families import exposed
from callboard.board.read.status.metrics import board_metrics, counters
from callboard.messages.distribution.topic_messages import State, Status

SAMPLE = re.compile(r'callboard_[a-z_]+(\{([a-z]+="([^"\\]|\\.)*",?)+\})? -?[0-9.]+(e[+]\d+)?')


def figures(text: str) -> dict[str, float]:
    lines = [line for line in text.splitlines() if not line.startswith("#")]
    return {name: float(value) for name, _, value in (line.rpartition(" ") for line in lines)}


@pytest.fixture
def text(board: Any) -> str:
    board.package(length=100)
    board.pass_time(40)
    board.package(length=10)
    board.pass_time(2)
    board.announce(
        'the "edge"', 0, State.RETRYING, attempts=3, imported=7, cleared=1, skipped=2, superseded=4, editable=True,
        import_started_ns=board.now_ns - 1_500_000_000, ready=True,
    )  # fmt: skip
    board.tell('the "edge"', 1, Status.HELD)
    counted = {"site": {"requests_accepted_total": 5}}
    return exposed(board_metrics(board.status(), {"callboard.package": Bounds(1, 3)}, counted))


@pytest.mark.proves("F98", "F99", "W20", "W29")
def test_every_figure_has_its_labels_and_its_unit(text: str) -> None:
    found = figures(text)
    edge = 'subscriber="the \\"edge\\""'
    assert found[f"callboard_subscriber_lag_packages{{{edge}}}"] == 2
    assert found[f"callboard_subscriber_lag_bytes{{{edge}}}"] == 110
    assert found[f"callboard_subscriber_lag_seconds{{{edge}}}"] == pytest.approx(42, abs=0.5)
    assert found[f"callboard_subscriber_importing_seconds{{{edge}}}"] == pytest.approx(1.5, abs=0.5)
    assert found[f"callboard_subscriber_attempts{{{edge}}}"] == 3
    assert found[f"callboard_subscriber_ready{{{edge}}}"] == 1
    assert found[f'callboard_subscriber_state{{state="retrying",{edge}}}'] == 1
    assert found[f'callboard_subscriber_state{{state="idle",{edge}}}'] == 0
    assert found[f'callboard_subscriber_queue{{state="blocked",{edge}}}'] == 1
    assert found[f'callboard_subscriber_errors{{status="held",{edge}}}'] == 1
    assert found[f'callboard_subscriber_packages_total{{status="superseded",{edge}}}'] == 4
    assert found['callboard_cohort_packages{cohort="persisted",publisher="site"}'] == 2
    assert found['callboard_publisher_state{publisher="site",state="blocked"}'] == 1
    assert found['callboard_topic_end_offset{topic="callboard.package"}'] == 3
    assert found['callboard_requests_accepted_total{publisher="site"}'] == 5


@pytest.mark.proves("F99")
def test_prometheus_can_parse_the_metrics(text: str) -> None:
    families = []
    for line in text.splitlines():
        if line.startswith("# HELP "):
            families.append(line.split()[2])
        elif line.startswith("# TYPE "):
            assert line.split()[2:] in ([families[-1], "gauge"], [families[-1], "counter"])
        else:
            assert SAMPLE.fullmatch(line), line
            assert re.split("[{ ]", line)[0] == families[-1]
    assert len(families) == len(set(families)), "each family stands in one place"
    assert text.endswith("\n")


def test_no_label_names_a_package(text: str) -> None:
    assert set(re.findall(r'([a-z]+)="', text)) == {
        "subscriber", "publisher", "state", "status", "topic", "cohort", "version",
    }  # fmt: skip


@pytest.mark.proves("F98")
def test_the_actors_of_a_publisher_report_their_counters(board: Any) -> None:
    for _ in range(30):
        board.package()
    board.announce("edge-1", 0)
    board.start()
    board.status()
    found = board.ask(lambda agent: counters(agent, 10))
    assert found["queue_cache_entries"] == 30
    assert found["queue_cache_fetches_total"] == 1
    assert found["requests_accepted_total"] == 0


def test_a_queue_has_no_figures_until_it_is_counted(board: Any) -> None:
    board.announce("edge-1", 0)
    board.package()
    status = board.status()
    (row,) = status.subscribers
    (publisher,) = status.publishers
    counting = replace(publisher.published, uncounted=500)
    status = replace(
        status,
        subscribers=(replace(row, lag_s=-1.0, uncounted=500),),
        publishers=(replace(publisher, published=counting, persisted=None),),
    )
    found = figures(exposed(board_metrics(status, {}, {})))
    assert not {name for name in found if "_lag_" in name or name.partition("{")[0].endswith(("_packages", "_bytes"))}
    assert not {name for name in found if name.startswith("callboard_cohort_seconds")}
    assert found['callboard_subscriber_offset{subscriber="edge-1"}'] == 0
    assert found['callboard_cohort_members{cohort="published",publisher="site"}'] == 1
