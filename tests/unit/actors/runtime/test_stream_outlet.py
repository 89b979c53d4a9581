"""The gateway's end of the stream to the service."""

import socket
import struct
from collections.abc import Iterator

import pytest
from structlog.testing import capture_logs

from callboard.actors.runtime.frames import Frame, Kind, encode
from callboard.actors.runtime.processes.stream_outlet import StreamOutlet


@pytest.fixture
def ends() -> Iterator[tuple[StreamOutlet, socket.socket]]:
    """The outlet, and the service's socket."""
    near, far = socket.socketpair()
    far.settimeout(60)
    outlet = StreamOutlet("", b"")
    outlet._socket = near
    with near, far:
        yield outlet, far


def test_messages_of_the_service_arrive(ends: tuple[StreamOutlet, socket.socket]) -> None:
    outlet, service = ends
    stop = Frame(Kind.STOP, seconds=3.0)

    service.sendall(encode(stop) + encode(stop)[:5])
    assert outlet.received() == [stop]
    service.sendall(encode(stop)[5:])
    assert outlet.received() == [stop]


@pytest.mark.parametrize("body", [b"", b"\xff" * 40, struct.pack(">BQdHH", 99, 1, 0.0, 0, 0)])
def test_a_gateway_closes_a_stream_that_it_cannot_decode(ends: tuple[StreamOutlet, socket.socket], body: bytes) -> None:
    outlet, service = ends
    service.sendall(struct.pack(">I", len(body)) + body)

    with capture_logs() as lines:
        assert outlet.received() == []

    assert [line["event"] for line in lines] == ["stream.broken"]
    assert service.recv(1) == b"", "or the service would wait for its answers for ever"
    assert outlet.watch is None
    assert outlet.received() == []
