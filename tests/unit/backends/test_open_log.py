"""From a URL to a log."""

import asyncio
from collections.abc import Callable
from importlib import metadata
from importlib.metadata import EntryPoint
from pathlib import Path

import pytest

from callboard.backends.log import Capability, Log
from callboard.backends.logs.memory import MemoryLog
from callboard.backends.offered import LOGS
from callboard.backends.registry import open_log
from callboard.errors import ConfigError

BASE = Path("/nowhere")


def test_every_log_in_memory_is_a_new_one() -> None:
    assert open_log("memory:", BASE) is not open_log("memory:", BASE)
    assert Capability.DURABLE not in open_log("memory://", BASE).capabilities


@pytest.mark.parametrize(
    ("url_of", "folder"),
    [
        (lambda _: "sqlite:///./board.db", "board.db"),
        (lambda _: "sqlite:///board.db", "board.db"),
        (lambda base: f"sqlite:///{base}/deep/er/board.db", "deep/er/board.db"),
    ],
)
def test_a_sqlite_url_names_a_folder(url_of: Callable[[Path], str], folder: str, tmp_path: Path) -> None:
    async def scenario() -> None:
        log = open_log(url_of(tmp_path), tmp_path)
        assert not (tmp_path / folder).exists()
        await log.ensure("package")
        await log.close()

    asyncio.run(scenario())
    assert (tmp_path / folder / "package.db").is_file()


@pytest.mark.parametrize(
    ("url", "advice"),
    [
        ("board.db", "write for instance sqlite:///"),
        ("", "write for instance sqlite:///"),
        ("sqlite:board.db", "four|absolute"),
        ("sqlite://host/board.db", "write sqlite:///"),
        ("sqlite:///", "write sqlite:///"),
        ("memory://board", "write memory:"),
        ("kafka://localhost/topic", "kafka://host:port,host:port/.option=value"),
        ("sqllite:///./board.db", "use one of kafka, memory, postgresql, sqlite"),
    ],
)
def test_a_url_that_names_no_log_is_refused_with_advice(url: str, advice: str) -> None:
    with pytest.raises(ConfigError, match=advice):
        open_log(url, BASE)


def test_an_installed_package_can_offer_a_log(monkeypatch: pytest.MonkeyPatch) -> None:
    stone = EntryPoint("stone", f"{__name__}:carve", LOGS)
    monkeypatch.setattr(EntryPoint, "load", lambda self: carve)
    monkeypatch.setattr(metadata, "entry_points", lambda group: [stone] if "logs" in group else [])
    assert isinstance(open_log("stone://tablet", BASE), Tablet)
    with pytest.raises(ConfigError, match="use one of kafka, memory, postgresql, sqlite, stone"):
        open_log("clay://tablet", BASE)


class Tablet(MemoryLog):
    pass


def carve(url: str, base: Path) -> Log:
    assert (url, base) == ("stone://tablet", BASE)
    return Tablet()
