"""Watches bells: one inotify instance per event loop, or polling where inotify is not available."""

import asyncio
import ctypes
import os
import struct
from collections.abc import Callable
from pathlib import Path

from callboard.backends.logs.sqlite.bell import Bell

POLL_S = 0.02
"""How often bells are polled without inotify: beyond fs.inotify.max_user_instances, or not on Linux."""

_IN_MODIFY = 0x2
_EVENT = struct.Struct("iIII")  # watch, mask, cookie, length of the name that follows


class Watch:
    """Calls functions of one event loop when bells ring. Shared by all logs of that loop, see ``watch``."""

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self._loop = loop
        self._heard: dict[Path, bytes] = {}
        self._listeners: dict[Path, list[tuple[Bell, Callable[[], None]]]] = {}
        self._paths: dict[int, Path] = {}
        self._inotify = _Inotify.open()
        self._poll: asyncio.TimerHandle | None = None
        if self._inotify is not None:
            loop.add_reader(self._inotify.fd, self._on_events)
        else:
            self._on_poll()

    def add(self, bell: Bell, listener: Callable[[], None]) -> None:
        """From now on, call ``listener`` when the bell rings."""
        if self._inotify is not None and bell.path not in self._listeners:
            number = self._inotify.watch(bell.path)
            self._paths[number] = bell.path
            if number < 0 and self._poll is None:  # beyond fs.inotify.max_user_watches
                self._on_poll()
        self._heard[bell.path] = bell.heard()
        self._listeners.setdefault(bell.path, []).append((bell, listener))

    def remove(self, bell: Bell, listener: Callable[[], None]) -> None:
        """Stop calling it; removing the last one closes the inotify instance."""
        left = [pair for pair in self._listeners[bell.path] if pair[1] != listener]
        if left:
            self._listeners[bell.path] = left
        else:
            del self._listeners[bell.path]  # the kernel's watch may stay: adding it again returns the same one
        if not self._listeners:
            self._close()

    def _on_events(self) -> None:
        assert self._inotify is not None
        for number in self._inotify.read():
            for _, listener in self._listeners.get(self._paths.get(number, Path()), ()):
                listener()

    def _on_poll(self) -> None:
        for path, pairs in self._listeners.items():
            if (heard := pairs[0][0].heard()) != self._heard[path]:
                self._heard[path] = heard
                for _, listener in pairs:
                    listener()
        self._poll = self._loop.call_later(POLL_S, self._on_poll)

    def _close(self) -> None:
        del _watches[self._loop]
        if self._inotify is not None and not self._loop.is_closed():
            self._loop.remove_reader(self._inotify.fd)
        if self._inotify is not None:
            self._inotify.close()
        if self._poll is not None:
            self._poll.cancel()


class _Inotify:
    """The three system calls missing from the standard library."""

    def __init__(self, libc: ctypes.CDLL, fd: int) -> None:
        self._libc, self.fd = libc, fd

    @classmethod
    def open(cls) -> "_Inotify | None":
        libc = ctypes.CDLL(None)
        fd = libc.inotify_init1(os.O_NONBLOCK | os.O_CLOEXEC) if hasattr(libc, "inotify_init1") else -1
        return cls(libc, fd) if fd >= 0 else None

    def watch(self, path: Path) -> int:
        return int(self._libc.inotify_add_watch(self.fd, os.fsencode(path), _IN_MODIFY))

    def read(self) -> set[int]:
        """The watches with news."""
        try:
            events = os.read(self.fd, 65536)
        except BlockingIOError:
            return set()
        found, position = set(), 0
        while position < len(events):
            number, _, _, length = _EVENT.unpack_from(events, position)
            found.add(number)
            position += _EVENT.size + length
        return found

    def close(self) -> None:
        os.close(self.fd)


_watches: dict[asyncio.AbstractEventLoop, Watch] = {}


def watch() -> Watch:
    """The watch of the running event loop."""
    loop = asyncio.get_running_loop()
    if loop not in _watches:
        _watches[loop] = Watch(loop)
    return _watches[loop]
