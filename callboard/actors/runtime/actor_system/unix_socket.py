"""A Unix socket in the private folder that looks to thespian like a TCP socket of this machine."""

import errno
import os
import secrets
import socket
from contextlib import suppress
from typing import Any

from callboard.actors.runtime.actor_system import seal

LOOPBACK = "127.0.0.1"
"""Stands for "here" in thespian's addresses; nothing is ever bound to it."""


def path_of(number: int) -> str:
    """The path of the socket that stands for this port."""
    return f"{seal.member().home}/{number}"


class UnixSocket(socket.socket):
    """Maps ("127.0.0.1", n) to the path <home>/<n>. Errors are raised when, and as, thespian expects them of TCP."""

    def __init__(self, *_family: int, fileno: int | None = None) -> None:
        super().__init__(socket.AF_UNIX, socket.SOCK_STREAM, 0, fileno)
        self._number = 0
        self._owner = 0
        self._peer = ""

    def bind(self, address: Any) -> None:
        """Port 0 takes a number never used before, unlike TCP ports."""
        self._number = address[1] or secrets.randbits(48)
        self._owner = os.getpid()
        super().bind(path_of(self._number))

    def getsockname(self) -> Any:
        """As of an IPv4 socket."""
        return LOOPBACK, self._number

    def accept(self) -> tuple["UnixSocket", Any]:
        """As of an IPv4 socket."""
        connection, _ = super().accept()
        return UnixSocket(fileno=connection.detach()), (LOOPBACK, 0)

    def setsockopt(self, level: int, *args: Any) -> None:
        """TCP options mean nothing here."""
        if level != socket.IPPROTO_TCP:
            super().setsockopt(level, *args)

    def connect(self, address: Any) -> None:
        """Errors are raised by ``send``, as by non-blocking TCP: an early one ends thespian's *next* request."""
        self._peer = path_of(address[1])
        try:
            self._connect()
        except OSError:
            raise OSError(errno.EINPROGRESS, "reported by send") from None

    def send(self, *args: Any) -> int:
        """Thespian retries on EAGAIN (backlog full), which may come from the connect made here."""
        try:
            if self._peer:
                self._connect()
            return super().send(*args)
        except FileNotFoundError:
            raise OSError(errno.ECONNREFUSED, "no such actor") from None  # thespian takes it for a dead actor
        except BrokenPipeError:
            raise OSError(errno.ECONNRESET, "closed") from None  # EPIPE would mean a dead actor; it may be alive

    def close(self) -> None:
        """Also remove the path if this process created it: thespian probes by binding and closing."""
        if self._number and self._owner == os.getpid():
            with suppress(FileNotFoundError):
                os.unlink(path_of(self._number))  # noqa: PTH108  # at interpreter exit pathlib may be gone
        super().close()

    def _connect(self) -> None:
        super().connect(self._peer)
        self._peer = ""
