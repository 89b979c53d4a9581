"""An alert as an operator sees it: a real subscriber gets stuck, and goes on once it is repaired.

The alerts are those of deploy/, but for a copy with a shorter ``for``: a condition need not last for minutes here.
"""

import re
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from callboard.testing.servers.network import free_port
from callboard.testing.servers.prometheus import PrometheusServer, prometheus_server
from tests.e2e.conftest import DEADLINE_S, Terminal
from tests.warm_start import WarmStart

pytestmark = pytest.mark.prometheus

ALERTS = Path(__file__).resolve().parents[2] / "deploy" / "prometheus" / "alerts.yml"

CONFIGURATION = """
global: {{scrape_interval: 1s, evaluation_interval: 1s}}
rule_files: ["{rules}"]
scrape_configs:
  - job_name: callboard
    static_configs: [{{targets: ["127.0.0.1:{port}"], labels: {{board: site}}}}]
"""

HOOKS = """
from pathlib import Path

def refuse(call):
    if not Path("repaired").exists():
        raise OSError("the disk is full")
"""

SETTINGS = """
[subscriber]
before_import = "hooks:refuse"
retry_first_s = 0.1
retry_max_s = 0.2
"""


@pytest.fixture
def terminal(tmp_path: Path, warm_start: WarmStart) -> Iterator[Terminal]:
    (tmp_path / "site").mkdir()
    (tmp_path / "site" / "index.html").write_text("welcome")
    (tmp_path / "hooks.py").write_text(HOOKS)
    (tmp_path / "callboard.toml").write_text(SETTINGS)
    typist = Terminal(tmp_path, warm_start)
    typist.run("init")
    yield typist
    typist.end()


def until(server: PrometheusServer, met: Callable[[dict[str, dict[str, Any]]], bool]) -> dict[str, dict[str, Any]]:
    """Look at the alerts that fire, by name, until it is so."""
    deadline = time.monotonic() + DEADLINE_S
    while True:
        alerts = {each["labels"]["alertname"]: each for each in server.ask("alerts")["alerts"]}
        firing = {name: each for name, each in alerts.items() if each["state"] == "firing"}
        if met(firing):
            return firing
        assert time.monotonic() < deadline, alerts
        time.sleep(0.2)


def test_the_alert_of_a_stuck_subscriber_fires_and_ends_when_it_is_repaired(terminal: Terminal, tmp_path: Path) -> None:
    rules, port = tmp_path / "alerts.yml", free_port()
    rules.write_text(re.sub(r"for: \d+m", "for: 1s", ALERTS.read_text(encoding="utf-8")), encoding="utf-8")
    terminal.run("publish", "./site", "--publisher", "site")
    publisher = terminal.start("run", "publisher", "site", "--listen", str(port), said="publisher.txt")
    terminal.start("run", "subscriber", "edge-1", "--into", "./out", said="subscriber.txt")
    with prometheus_server(CONFIGURATION.format(rules=rules, port=port)) as server:
        firing = until(server, lambda firing: "CallboardSubscriberBlocked" in firing)
        alert = firing["CallboardSubscriberBlocked"]
        assert alert["labels"] == {
            "alertname": "CallboardSubscriberBlocked", "board": "site", "subscriber": "edge-1", "severity": "critical",
        }  # fmt: skip
        assert "CallboardTargetDown" not in firing
        [command] = re.findall(r"`callboard (.*?)`", alert["annotations"]["summary"])
        assert "the disk is full" in " ".join(terminal.out(*command.split()).split())
        (tmp_path / "repaired").touch()
        until(server, lambda firing: not {"CallboardSubscriberBlocked", "CallboardSubscriberNeedsOperator"} & {*firing})
        assert (tmp_path / "out" / "index.html").read_text() == "welcome"
        publisher.terminate()
        firing = until(server, lambda firing: "CallboardTargetDown" in firing)
        assert f"127.0.0.1:{port} gives no metrics" in firing["CallboardTargetDown"]["annotations"]["summary"]
