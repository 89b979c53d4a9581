"""A command that takes long says what it waits for; one that runs until Ctrl-C prints nothing while all is well."""

import asyncio
from pathlib import Path
from typing import Any

import pytest

from callboard import Callboard
from callboard.board.care import checkup
from callboard.cli.terminal import patience
from callboard.cli.terminal.patience import patiently


@pytest.mark.parametrize(
    ("endless", "said"), [(False, "still at work; `callboard doctor` checks ./board.db\n"), (True, "")]
)
def test_only_commands_that_should_end_are_reported_as_still_running(
    endless: bool, said: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    async def scenario() -> None:
        examined, examine = asyncio.Event(), checkup.examine_log

        async def examine_log(*given: Any) -> Any:
            found = await examine(*given)
            examined.set()
            return found

        monkeypatch.setattr(checkup, "examine_log", examine_log)
        monkeypatch.setattr(patience, "PATIENCE_S", 0.0)
        async with Callboard("sqlite:///./board.db", base=tmp_path) as board:
            await patiently(examined.wait(), board.settings, "./board.db", endless=endless)

    asyncio.run(scenario())
    assert capsys.readouterr().err == said
