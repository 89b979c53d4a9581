"""The gateway's end of the stream to the service: a Unix socket in the system's private folder."""

import socket
from typing import Any

from callboard.actors.runtime.actor_system import leash
from callboard.actors.runtime.actor_system.actors import ActorAddress, ThespianWatch
from callboard.actors.runtime.frames import Frame, FrameReader, encode
from callboard.errors import Undecodable
from callboard.logger import get_logger

READ_BYTES = 1 << 18


class StreamOutlet:
    """See ``Outlet``. Picklable until it is opened.

    The service is trusted because it created the folder. To be trusted in turn, the gateway first sends the token that
    the service generated for this system.
    """

    def __init__(self, path: str, token: bytes) -> None:
        self._path = path
        self._token = token
        self._socket: socket.socket | None = None
        self._reader = FrameReader()

    @property
    def watch(self) -> Any:
        """What wakes the gateway; empty once the service has hung up."""
        return ThespianWatch([self._socket.fileno()]) if self._socket is not None else None

    def open(self, gateway: ActorAddress) -> None:
        """Connect."""
        del gateway
        leash.set_name("cb:gateway")
        self._socket = socket.socket(socket.AF_UNIX)
        self._socket.connect(self._path)
        self._socket.sendall(self._token)

    def put(self, frame: Frame) -> None:
        """Blocks while the service does not read; a blocked service needs no answers."""
        if self._socket is not None:
            self._socket.sendall(encode(frame))

    def received(self) -> list[Frame]:
        """Frames from the service since the last call."""
        if self._socket is None:
            return []
        data = self._socket.recv(READ_BYTES)
        try:
            frames = self._reader.feed(data)
        except Undecodable as error:
            # Frames after it cannot be separated, and a gateway that reads nothing must not look alive: the
            # service replaces a system that hangs up.
            get_logger().error("stream.broken", reason=str(error))
            frames, data = [], b""
        if not data:
            # The service has died or closed the stream; the host process is about to end everything.
            self._socket.close()
            self._socket = None
        return frames
