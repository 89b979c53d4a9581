import asyncio
from pathlib import Path
from typing import Any

import pytest
from structlog.testing import capture_logs

from callboard.cli.run.ready_file import ready_file


class Ready:
    """A subscriber that may serve."""

    name = "edge-1"

    async def until_ready(self) -> str:
        return "idle"


def test_a_ready_file_that_cannot_be_written_is_reported(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: Any) -> None:
        raise OSError(28, "No space left on device")

    async def scenario() -> None:
        async with ready_file(Ready(), tmp_path / "ready"):  # type: ignore[arg-type]  # as much of it as is needed
            async with asyncio.timeout(60):
                while not lines:  # noqa: ASYNC110 - nothing signals it
                    await asyncio.sleep(0)

    monkeypatch.setattr("callboard.cli.run.ready_file.replacing", full)
    with capture_logs() as lines:
        asyncio.run(scenario())
    (line,) = lines
    assert (line["event"], line["log_level"], line["subscriber"]) == ("ready_file.not_written", "error", "edge-1")
    assert "free space" in line["reason"]
