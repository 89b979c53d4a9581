"""Requests from standard input: the thread that reads them ends."""

import asyncio
import os
import threading

import pytest

from callboard.cli.publishing import requests

DEADLINE_S = 60.0


@pytest.mark.parametrize("rest", [b"", b'{"kind": "test"}\n'], ids=["its end", "a line"])
def test_input_after_the_end_of_the_publisher_ends_the_reading_thread_silently(
    rest: bytes, monkeypatch: pytest.MonkeyPatch
) -> None:
    closed = threading.Event()
    given = [rest, b""]

    def read(_fd: int, _most: int) -> bytes:
        assert closed.wait(DEADLINE_S)
        return given.pop(0)

    async def service() -> None:
        with pytest.raises(TimeoutError):
            await asyncio.wait_for(anext(aiter(requests._lines())), 0.01)

    said: list[object] = []
    monkeypatch.setattr(threading, "excepthook", said.append)
    monkeypatch.setattr(os, "read", read)
    asyncio.run(service())
    (reader,) = [thread for thread in threading.enumerate() if thread.name == "callboard-requests"]
    closed.set()
    reader.join(DEADLINE_S)
    assert not reader.is_alive()
    assert [hook for hook in said if hook.exc_type is not SystemExit] == []  # type: ignore[attr-defined]
