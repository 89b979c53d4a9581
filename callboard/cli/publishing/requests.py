"""Requests to a publisher, one line of JSON each, and their answers."""

import asyncio
import json
import os
import sys
import threading
from collections.abc import AsyncIterator, Callable
from concurrent.futures import CancelledError
from dataclasses import asdict
from pathlib import Path
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, ValidationError

from callboard.board.publisher import Publisher, RequestOptions
from callboard.board.views import Package
from callboard.config import Loaded
from callboard.config.placement import placement
from callboard.errors import CallboardError, LogUnavailable, NotAnswered, RequestRefused

LINE_MAX = 1 << 20
"""Bytes of the longest request: room for thousands of paths, but no more than fits a record."""
CHUNK_BYTES = 1 << 16


class Request(BaseModel):
    """One request. ``source`` is the folder for ``add``, by default the publisher's own; ``at`` is where it goes, by
    default as set in callboard.toml.
    """

    model_config = ConfigDict(extra="forbid", strict=True)

    kind: Literal["add", "delete", "invalidate", "test"]
    paths: list[str] = []
    deep: bool = True
    full: bool = False
    request_id: str = ""
    source: str = ""
    user: str = ""
    at: str = ""
    replace_root: bool = False
    recipients: list[str] = []
    expect: bool = False
    metadata: dict[str, str] = {}


async def answer_requests(publisher: Publisher, loaded: Loaded, at: str) -> None:
    """Answer each line of standard input with one on standard output, until it ends."""
    async for line in _lines():
        if line.strip():
            sys.stdout.write(json.dumps(await answer(publisher, loaded, at, line)) + "\n")
            sys.stdout.flush()


async def answer(publisher: Publisher, loaded: Loaded, at: str, line: bytes) -> dict[str, Any]:
    """Carry out one request; returns its answer. ``retry`` means that the same request may be accepted later."""
    request_id = ""
    try:
        request = _parsed(line)
        request_id = request.request_id
        package = await _carried_out(publisher, loaded, at, request)
    except CallboardError as error:
        retry = isinstance(error, LogUnavailable | NotAnswered)
        refused = {"accepted": False, "code": error.code, "reason": str(error), "retry": retry}
        return {"request_id": request_id, **refused}
    return {"request_id": request_id, "accepted": package.state != "dropped", **asdict(package)}


def _parsed(line: bytes) -> Request:
    if len(line) > LINE_MAX:
        raise RequestRefused(
            f"a request of more than {LINE_MAX} bytes; ask for fewer paths at a time", code="too_large"
        )
    try:
        return Request.model_validate_json(line)
    except ValidationError as error:
        problems = (f"{'.'.join(map(str, problem['loc']))} {problem['msg']}".strip() for problem in error.errors())
        raise RequestRefused(f"not a request: {'; '.join(problems)}") from None


async def _carried_out(publisher: Publisher, loaded: Loaded, at: str, request: Request) -> Package:
    options: RequestOptions = {
        "request_id": request.request_id,
        "user": request.user,
        "recipients": request.recipients,
        "expect": request.expect,
        "metadata": request.metadata,
    }
    match request.kind:
        case "add":
            folder = request.source or loaded.config.publisher.source
            if not folder:
                raise RequestRefused("an add needs a source; name one, or start the publisher with --from DIR")
            own = "" if request.source else at
            place = placement(loaded, publisher.name, Path(folder), request.at or own)
            paths = request.paths or ("/",)
            return await publisher.publish(
                folder,
                paths,
                at=place.at,
                deep=request.deep,
                full=request.full,
                source_name=place.name,
                replace_root=request.replace_root,
                **options,
            )
        case "delete":
            return await publisher.delete(request.paths, replace_root=request.replace_root, **options)
        case "invalidate":
            return await publisher.invalidate(request.paths, **options)
        case _:
            return await publisher.test(**options)


async def _lines() -> AsyncIterator[bytes]:
    """The lines of standard input: a pipe, a file or a terminal.

    A thread reads them, and may be left blocked in its read, which only more input or the end of the process ends.
    """
    lines: asyncio.Queue[bytes | None] = asyncio.Queue(maxsize=1)
    loop = asyncio.get_running_loop()

    def pass_on(line: bytes | None) -> None:
        putting = lines.put(line)
        try:
            asyncio.run_coroutine_threadsafe(putting, loop).result()
        except (CancelledError, RuntimeError):  # the loop is closing or closed: no more requests are taken
            putting.close()
            raise SystemExit from None  # ends this thread silently

    threading.Thread(target=_read, args=(pass_on,), name="callboard-requests", daemon=True).start()
    while (line := await lines.get()) is not None:
        yield line


def _read(pass_on: Callable[[bytes | None], None]) -> None:
    """Cut the input into lines. Not through ``sys.stdin``, whose lock a blocked thread would hold to the end."""
    rest = b""
    while chunk := os.read(0, CHUNK_BYTES):
        *lines, rest = (rest + chunk).split(b"\n")
        for line in lines:
            pass_on(line)
        rest = rest[: LINE_MAX + 1]  # what is above the limit is refused, and need not be kept
    pass_on(rest)
    pass_on(None)
