"""What a board holds open: its log, its blob store, and the temporary folder of a log in memory."""

import os
import tempfile
from collections.abc import Callable
from contextlib import AsyncExitStack
from dataclasses import astuple, replace

from callboard.backends.blob_store import BlobStore
from callboard.backends.log import Log
from callboard.board.connect.opening import open_board_blobs, open_board_log
from callboard.board.connect.settings import BoardSettings
from callboard.errors import ConfigError

NOT_OPEN = "the board is not open; use it inside `async with Callboard(...) as board:`"
FORKED = "this board was opened before a fork; open one in the child, or use spawn"


class Resources:
    """The log and the blob store; they can be reopened after ``close``.

    Args:
        settings: where they are.
        open_log: opens the log.
        open_blobs: opens the blob store.
        create: create topics that the log lacks; without it, a missing one is an error.
    """

    def __init__(
        self,
        settings: BoardSettings,
        open_log: Callable[[BoardSettings], Log] = open_board_log,
        open_blobs: Callable[[BoardSettings], BlobStore] = open_board_blobs,
        *,
        create: bool = True,
    ) -> None:
        self.settings = settings
        self._create = create
        self._open_log, self._open_blobs = open_log, open_blobs
        self._log: Log | None = None
        self._process = -1
        self._blobs: BlobStore | None = None
        self._temporary: tempfile.TemporaryDirectory[str] | None = None

    @property
    def log(self) -> Log:
        """The open log. Raises ``ConfigError`` if it is not, and in a forked child, which has only a copy of it."""
        if self._log is None:
            raise ConfigError(NOT_OPEN)
        if self._process != os.getpid():
            raise ConfigError(FORKED)
        return self._log

    @property
    def blobs(self) -> BlobStore:
        """The open blob store. Raises ``ConfigError`` if it is not."""
        if self._blobs is None:
            raise ConfigError(NOT_OPEN)
        return self._blobs

    def holds(self, log: Log) -> bool:
        """Whether this log is still open."""
        return self._log is log

    @property
    def is_open(self) -> bool:
        """Whether anything needs closing."""
        return self._log is not None

    async def open(self) -> None:
        """Open both. If that fails, close what is open."""
        if self.settings.log.startswith("memory:") and not self.settings.blobs:
            self._temporary = tempfile.TemporaryDirectory(prefix="callboard-blobs-")
            self.settings = replace(self.settings, blobs=self._temporary.name)
        self._log, self._process = self._open_log(self.settings), os.getpid()
        self._blobs = self._open_blobs(self.settings)
        if self._create:
            await self.ensure_topics()
        else:
            await self._log.bounds(self.settings.topics.package)

    async def ensure_topics(self) -> None:
        """Create the topics that the log lacks. Existing ones stay as they are."""
        for topic in astuple(self.settings.topics):
            await self.log.ensure(topic)

    async def close(self) -> None:
        """Close both, even if one of them fails. Idempotent."""
        async with AsyncExitStack() as stack:
            if self._temporary is not None:
                stack.callback(self._temporary.cleanup)
                self._temporary, self.settings = None, replace(self.settings, blobs="")
            for resource in (self._blobs, self._log):
                if resource is not None:
                    stack.push_async_callback(resource.close)
            self._log = self._blobs = None
