"""A short run of invalid calls of the public API; ``make fuzz`` makes 100,000 of them."""

from pathlib import Path
from typing import Any

import pytest


def test_a_nonsensical_call_breaks_nothing(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.syspath_prepend(str(Path(__file__).parent))
    monkeypatch.chdir(tmp_path)
    import calls

    made = calls.fuzz(300, first_seed=0)
    assert made.made >= 300
    assert {"done", "RequestRefused", "ConfigError"} <= set(made.came_of)


@pytest.mark.parametrize("on", ["board", "publisher", "subscriber", "new"])
def test_the_fuzzer_calls_every_public_method(on: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(Path(__file__).parent))
    import calls

    names: Any = {method.name for method in calls.METHODS if method.on == on}
    some = {
        "board": {"status", "queue", "clear", "throttle", "events", "subscriber", "publisher", "repair", "trim"},
        "publisher": {"publish", "delete", "invalidate", "test", "packages", "log"},
        "subscriber": {"caught_up", "report", "until_ready"},
        "new": {"Callboard", "Publishing", "User", "Access", "board_app", "health_app", "MemoryBoard", "published"},
    }
    assert some[on] <= names
