"""The status of a board that has been open for long is made of what was read: it says when the log cannot be read."""

import asyncio
from pathlib import Path

from callboard import Callboard


def test_the_status_says_when_the_log_was_removed_and_when_it_is_back(tmp_path: Path) -> None:
    async def scenario() -> None:
        async with Callboard(base=tmp_path, create=True) as board:
            await board.publisher("main").test()
            assert (await board.status()).problem == ""
            (tmp_path / "board.db").rename(tmp_path / "away.db")
            assert "was removed while in use" in (await board.status()).problem
            (tmp_path / "away.db").rename(tmp_path / "board.db")
            assert (await board.status()).problem == ""

    asyncio.run(scenario())
