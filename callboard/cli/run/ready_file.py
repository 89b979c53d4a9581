"""The file that exists while a subscriber may serve, for probes that check only files."""

import asyncio
import os
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from functools import partial
from pathlib import Path

import structlog

from callboard.backends.local.disk import disk_errors, replacing
from callboard.board.subscriber import Subscriber
from callboard.errors import CallboardError, ConfigError, RequestRefused


@asynccontextmanager
async def ready_file(edge: Subscriber, path: Path | None) -> AsyncIterator[None]:
    """Write the file, with the process id in it, once the subscriber is ready, and remove it at the end.

    A file left by a killed process is removed first. Raises ``ConfigError`` if the file cannot be written.
    """
    if path is None:
        yield
        return
    _remove(path)
    writing = asyncio.create_task(_write(edge, path))
    try:
        yield
    finally:
        writing.cancel()
        await asyncio.gather(writing, return_exceptions=True)
        _remove(path)


async def _write(edge: Subscriber, path: Path) -> None:
    try:
        await edge.until_ready()
    except CallboardError:
        return  # it ends, and reports why
    try:
        _put(path)
    except RequestRefused as error:
        structlog.get_logger().error("ready_file.not_written", subscriber=edge.name, reason=str(error))


def _put(path: Path) -> None:
    with disk_errors(partial(RequestRefused, code="inaccessible"), path), replacing(path) as file:
        file.write(b"%d\n" % os.getpid())


def _remove(path: Path) -> None:
    try:
        if not path.parent.is_dir():
            raise NotADirectoryError(f"{path.parent} is not there")
        path.unlink(missing_ok=True)
    except OSError as error:
        fix = "name a file in a folder that is there"
        raise ConfigError(f"--ready-file {path} cannot be used ({error}); {fix}") from error
