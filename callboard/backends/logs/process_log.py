"""What logs on disks and servers share: they end with ``close``, and are of no use in a forked child."""

import asyncio
import os
from collections.abc import Awaitable, Callable

from callboard.backends.logs.appended import Appended
from callboard.backends.logs.limits import closed
from callboard.errors import ConfigError, LogUnavailable


class ProcessLog:
    """A log of the process that opened it."""

    def __init__(self) -> None:
        self._pid = os.getpid()
        self._closed = False

    def _check_open(self) -> None:
        if os.getpid() != self._pid:
            raise ConfigError("this log was opened before a fork; open one in the child, or use spawn")
        if self._closed:
            raise closed()

    def _ends(self) -> bool:
        """Whether ``close`` has something to close, from now on closed."""
        ends = not self._closed and os.getpid() == self._pid
        self._closed = self._closed or ends
        return ends

    async def _wait(
        self,
        appended: Appended,
        start: int,
        holds: Callable[[], Awaitable[bool]],
        timeout_s: float,
        recheck_s: float,
    ) -> bool:
        """Whether the topic ``holds`` a record from ``start`` on before the timeout. It is asked first, after every
        ring, and every ``recheck_s`` seconds, unless ``appended`` knows.
        """
        loop = asyncio.get_running_loop()
        deadline = loop.time() + timeout_s
        is_known = timeout_s > 0 and appended.is_end(start)
        while not self._closed:
            ring = appended.next_ring()  # before the check, so that an append between the two is not missed
            try:
                if not is_known and await holds():
                    return True
            except LogUnavailable:
                if not self._closed:
                    raise
            if (left_s := deadline - loop.time()) <= 0:
                return False
            await asyncio.wait({ring}, timeout=min(left_s, recheck_s))
            if appended.has(start) and not self._closed:
                return True
            is_known = False
        return False
