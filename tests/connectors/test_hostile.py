"""Hostile requests and answers do a connector no harm."""

import asyncio
import logging
import random
import socket
import time
import zlib
from contextlib import suppress

import httpx
import pytest

from callboard.connectors import ConnectorKey
from callboard.connectors.envelope import BODY_BYTES_MAX, PLAIN_BYTES_MAX, Route, sealed
from callboard.connectors.replays import WINDOW_MS
from callboard.http_server import Server
from callboard.messages.codec import decode, encode
from callboard.messages.event import replaced
from callboard.messages.topology.connector_messages import Announcement, Envelope
from tests.connectors.parties import OLD, OTHER, PATH, Party, Stranger, eventually, relayed, run
from tests.unit.actors.topology.test_announcements import cluster, said

MARKS = [b"a-0", b"b-0", b"a-other", b"a-secret-note", b"b-other", b"log-a", b"log-b"]


@pytest.mark.proves("T76")
@run
async def test_announcements_are_unreadable_on_the_wire():
    async with Party("b") as b, relayed(b.connectors.port) as relay:
        a = Party("a", relay.url, listens=False)
        a.cluster.note = "a-secret-note"
        async with a:
            await eventually(lambda: a.knows and b.knows)
        wire = relay.sent + relay.got
        assert len(relay.bodies()) >= 3
    assert OLD.id.encode() in wire  # the name of the key may be read
    assert not [mark for mark in MARKS if mark in wire]
    assert not [at for at in range(len(wire)) if inflates(wire[at:])]


@pytest.mark.proves("T77")
@run
async def test_without_a_key_announcements_are_readable_on_the_wire():
    async with Party("b", keys=(), allow=("127.0.0.1",)) as b, relayed(b.connectors.port) as relay:
        stranger = Stranger(key=None)
        await stranger.send(relay.url, stranger.sealed(b, said(cluster("evil", "evil-0"))))
        for wire in (bytes(relay.sent), bytes(relay.got)):
            assert [at for at in range(len(wire)) if inflates(wire[at:])]


@pytest.mark.proves("T77")
def test_an_announcement_is_compressed():
    large = said(cluster("x", *(f"x-{number}" for number in range(500))))
    asked = Stranger().identity.ask(OLD, "PUT", PATH, "b-0:1", large)
    assert len(asked.body) < len(encode(large)) / 5


def inflates(data: bytes) -> bool:
    try:
        return len(zlib.decompressobj().decompress(data)) > 20
    except zlib.error:
        return False


def garbage(good: bytes) -> dict[str, bytes]:
    rng = random.Random(7)
    envelope = decode(Envelope, good)
    return {
        "nothing": b"",
        "random bytes": rng.randbytes(3000),
        "half of a message": good[: len(good) // 2],
        "more than a message": good + b"\x7f",
        "a bit too many": bytes([good[0] ^ 1]) + good[1:],
        "a short nonce": encode(replaced(envelope, nonce=b"short")),
        "a long sender": encode(replaced(envelope, sender="x" * 5000)),
        "markup as a sender": encode(replaced(envelope, sender="<script>")),
        "a strange key": encode(replaced(envelope, key_id="\x1b[2J")),
        "no key": encode(replaced(envelope, key_id="")),
        "another time": encode(replaced(envelope, sent_ms=envelope.sent_ms + 1)),
        "another counter": encode(replaced(envelope, counter=envelope.counter + 1)),
        "another sender": encode(replaced(envelope, sender="a-0")),
        "another receiver": encode(replaced(envelope, receiver="c-0:" + "0" * 32)),
        "another protocol": encode(replaced(envelope, protocol=3)),
        "too many bytes": good + bytes(BODY_BYTES_MAX),
    }


@pytest.mark.proves("T76", "T78")
@run
async def test_garbage_and_altered_messages_get_the_answer_for_a_path_that_does_not_exist():
    async with Party("b") as b:
        stranger = Stranger()
        good = stranger.sealed(b, said(cluster("evil", "evil-0")))
        nowhere = await stranger.send(b.url + "/nowhere", b"", "GET")
        for what, body in garbage(good).items():
            answer = await stranger.send(b.url, body)
            assert (answer.status_code, answer.content, answer.headers) == (404, nowhere.content, nowhere.headers), what
        for at in range(0, len(good), 7):
            altered = good[:at] + bytes([good[at] ^ 0x10]) + good[at + 1 :]
            assert await stranger.status(b, altered) == 404, f"byte {at}"
        assert b.knows == {}
        assert await stranger.status(b, good) == 200
        assert set(b.knows) == {"evil"}


@pytest.mark.parametrize("method", ["GET", "POST", "HEAD", "OPTIONS", "PATCH"])
@run
async def test_other_methods_get_the_answer_for_a_path_that_does_not_exist(method):
    async with Party("b") as b:
        assert await Stranger().status(b, b"", method) == 404


@pytest.mark.proves("T74")
@run
async def test_a_message_is_valid_only_for_its_path_and_method():
    async with Party("b") as b:
        stranger = Stranger()
        assert await stranger.status(b, stranger.sealed(b, said(cluster("evil", "evil-0")))) == 200
        withdrawal = stranger.sealed(b, Announcement(), "DELETE")
        elsewhere = stranger.sealed(b, said(cluster("evil", "evil-0")), path="/other")
        assert await stranger.status(b, withdrawal, "PUT") == 404
        assert await stranger.status(b, elsewhere, "PUT") == 404
        assert await stranger.status(b, stranger.sealed(b, said(cluster("evil", "evil-0"))), "DELETE") == 404
        assert set(b.knows) == {"evil"}
        assert await stranger.status(b, withdrawal, "DELETE") == 200
        assert b.knows == {}


@pytest.mark.proves("T74")
@run
async def test_a_message_counts_once_even_after_a_restart_of_both_sides():
    async with Party("b") as b, relayed(b.connectors.port) as relay:
        async with Party("a", relay.url, listens=False):
            await eventually(lambda: b.knows)
        assert b.knows == {}  # it was told so
        captured = relay.bodies()
        stranger = Stranger()
        statuses = [await stranger.status(b, body) for body in captured]
        assert set(statuses) <= {404, 409}  # 409: those that were not addressed to this process
        assert b.knows == {}
        await b.restart()
        assert {await stranger.status(b, body) for body in captured} <= {404, 409}
        assert b.knows == {}


@run
async def test_of_two_messages_in_the_wrong_order_the_one_sent_later_counts():
    async with Party("b") as b:
        stranger = Stranger()
        first, second = (stranger.sealed(b, said(cluster("evil", "evil-0", epoch=n))) for n in (1, 2))
        assert [await stranger.status(b, body) for body in (second, first)] == [200, 404]
        assert [each.epoch for each in b.connectors.remote()] == [2]


@pytest.mark.parametrize("away_ms", [-WINDOW_MS - 5_000, WINDOW_MS + 5_000])
@run
async def test_a_message_with_a_time_far_from_the_clock_is_refused(away_ms):
    async with Party("b") as b:
        stranger = Stranger(clock=lambda: time.time_ns() + away_ms * 1_000_000)
        assert await stranger.status(b, stranger.sealed(b, said(cluster("evil", "evil-0")))) == 404


BOMBS = {
    "a bomb": zlib.compress(bytes(PLAIN_BYTES_MAX * 8)),
    "a bomb with a ratio that is too high": zlib.compress(bytes(500_000)),
    "not compressed": bytes(1000),
    "compressed to no end": zlib.compress(bytes(1000))[:-4],
    "something after the end": zlib.compress(b"") + b"more",
    "no announcement": zlib.compress(b"\xff\xff\xff"),
}


@pytest.mark.proves("T77", "T95")
@pytest.mark.parametrize("packed", [pytest.param(bomb, id=what) for what, bomb in BOMBS.items()])
@run
async def test_a_decompression_bomb_from_a_peer_with_the_key_is_refused(packed, monkeypatch):
    async with Party("b") as b:
        stranger = Stranger()
        monkeypatch.setattr("callboard.connectors.envelope.packed", lambda _: packed)
        body = stranger.sealed(b, Announcement())
        monkeypatch.undo()
        assert await stranger.status(b, body) == 404
        assert b.knows == {}


UNFIT = {
    "an announcement by an instance outside the cluster": cluster("x", "x-1", path=("y-1", "evil-0")),
    "a path that hides who sent it": cluster("evil", "evil-0", "a-0", path=("a-0",)),
    "an id that is markup": cluster("x", "<img src=x>", path=("<img src=x>", "evil-0")),
}


@pytest.mark.parametrize("unfit", [pytest.param(each, id=what) for what, each in UNFIT.items()])
@run
async def test_an_impossible_announcement_is_not_accepted(unfit):
    async with Party("b") as b:
        stranger = Stranger()
        assert await stranger.status(b, stranger.sealed(b, said(unfit))) == 400
        assert b.knows == {}


@pytest.mark.parametrize("name", ["", "<script>", "a b", "x" * 101, "a-0:", "\n"])
@run
async def test_an_id_that_is_none_is_not_accepted_even_from_one_with_the_key(name):
    async with Party("b") as b:
        stranger = Stranger(name)
        assert await stranger.status(b, stranger.sealed(b, said(cluster("evil", "evil-0")))) == 404


@run
async def test_announced_members_of_the_local_cluster_or_of_one_with_a_shorter_path_are_ignored():
    async with Party("b") as b:
        stranger = Stranger()
        claims = cluster("evil", "evil-0", "b-other"), cluster("c", "c-0", "x", path=("c-0", "evil-0"))
        other = cluster("b", "b-9", path=("b-9", "evil-0"))
        assert await stranger.status(b, stranger.sealed(b, said(*claims, other))) == 200
        assert set(b.knows) == {"c"}  # of log-b, b is the local cluster itself


@pytest.mark.proves("T79")
@run
async def test_a_request_of_another_protocol_version_is_told_so_only_if_it_has_the_key():
    async with Party("b") as b:
        envelope = decode(Envelope, Stranger().sealed(b, Announcement()))
        newer = replaced(envelope, protocol=3)
        assert await Stranger().status(b, sealed(OLD, Route("request", "PUT", PATH), newer, Announcement())) == 400
        assert await Stranger().status(b, sealed(OTHER, Route("request", "PUT", PATH), newer, Announcement())) == 404


@pytest.mark.proves("T74")
@run
async def test_neither_side_accepts_messages_under_another_key():
    for key in (OTHER, ConnectorKey("unknown", b"u" * 32)):
        async with Party("b") as b, Party("a", b.url, listens=False, keys=(key,)) as a:
            await eventually(lambda a=a: "HTTP 404" in a.problem)
            assert (a.knows, b.knows) == ({}, {})


async def answering(app, test) -> None:
    """Have the connector of a party call this application."""
    server = Server(app, ("127.0.0.1", 0), None)
    await server.start()
    try:
        async with Party("a", f"http://127.0.0.1:{server.port}{PATH}", listens=False) as a:
            await test(a)
    finally:
        await server.stop()


def answer_with(status: int, body: bytes = b"", **headers: str):
    async def app(scope, receive, send):
        pairs = [(name.encode(), value.encode()) for name, value in headers.items()]
        await send({"type": "http.response.start", "status": status, "headers": pairs})
        await send({"type": "http.response.body", "body": body})

    return app


ANSWERS = {
    "garbage": answer_with(200, b"\xff" * 100),
    "nothing": answer_with(200),
    "a redirect": answer_with(307, location="http://127.0.0.1:1/"),
    "an error": answer_with(500, b"<script>"),
    "a stranger's envelope": answer_with(
        200, encode(Envelope(protocol=2, key_id="", sender="b-0:" + "0" * 32, receiver="a-0", sent_ms=1, counter=1,
                             nonce=bytes(12), sealed=zlib.compress(b""))),
    ),
    "too many bytes": answer_with(200, bytes(BODY_BYTES_MAX + 1)),
    "a bomb in gzip": answer_with(200, zlib.compress(bytes(10**7), wbits=31), **{"content-encoding": "gzip"}),
}  # fmt: skip


@pytest.mark.parametrize("app", [pytest.param(app, id=what) for what, app in ANSWERS.items()])
@run
async def test_an_answer_that_is_not_authentic_is_ignored(app):
    async def refused(a):
        await eventually(lambda: a.problem)
        assert a.knows == {}
        assert "<script>" not in a.problem

    await answering(app, refused)


@pytest.mark.proves("T74")
@run
async def test_the_answer_to_an_earlier_request_is_ignored():
    async with Party("b") as b:
        kept: list[bytes] = []

        async def replaying(scope, receive, send):
            body, more = b"", True
            while more:
                message = await receive()
                body, more = body + message["body"], message["more_body"]
            if len(kept) < 2:
                answer = await Stranger().send(b.url, body)
                kept.append(answer.content)
                await answer_with(answer.status_code, answer.content)(scope, receive, send)
            else:
                await answer_with(200, kept[-1])(scope, receive, send)

        async def refused(a):
            await eventually(lambda: a.knows)
            await eventually(lambda: "altered" in a.problem)
            await eventually(lambda: not a.knows)

        await answering(replaying, refused)


@run
async def test_an_endless_answer_is_cut_off():
    async def endless(scope, receive, send):
        await send({"type": "http.response.start", "status": 200, "headers": []})
        ended = asyncio.create_task(until_disconnected(receive))
        while not ended.done():
            await send({"type": "http.response.body", "body": bytes(100_000), "more_body": True})
            await asyncio.sleep(0)

    async def until_disconnected(receive):
        while (await receive())["type"] != "http.disconnect":
            pass

    async def refused(a):
        await eventually(lambda: "more than" in a.problem)

    await answering(endless, refused)


@run
async def test_an_unfinished_request_does_not_delay_others(monkeypatch):
    monkeypatch.setattr("callboard.connectors.incoming.READ_S", 0.2)
    async with Party("b") as b:
        reader, writer = await asyncio.open_connection("127.0.0.1", b.connectors.port)
        writer.write(f"PUT {PATH} HTTP/1.1\r\nhost: b\r\ncontent-length: 100\r\n\r\nabc".encode())
        stranger = Stranger()
        assert await stranger.status(b, stranger.sealed(b, said(cluster("evil", "evil-0")))) == 200
        assert (await reader.read(200)).startswith(b"HTTP/1.1 404")
        writer.close()


@pytest.mark.parametrize(
    "sent", [b"", b"PUT /callboard/topology HTTP/1.1\r\n", b"GET / HTTP/1.1\r\nhost: b\r\n\r\nGET"]
)
@run
async def test_a_connection_without_a_request_is_closed_however_slowly_its_headers_come(sent, monkeypatch):
    monkeypatch.setattr("callboard.http_server.HEADERS_S", 0.2)
    monkeypatch.setattr("callboard.http_server.KEEP_ALIVE_S", 3600)
    async with Party("b") as b:
        reader, writer = await asyncio.open_connection("127.0.0.1", b.connectors.port)
        writer.write(sent)
        answer = asyncio.create_task(reader.read())

        def is_ended() -> bool:
            writer.write(sent[:1])
            return answer.done()

        await eventually(is_ended)
        answer.exception()  # it may have been reset
        writer.close()


@run
async def test_a_connection_whose_answers_are_not_read_is_ended(monkeypatch):
    monkeypatch.setattr("callboard.http_server.HEADERS_S", 0.2)
    async with Party("b") as b:
        client = socket.socket()
        client.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 1)
        client.setblocking(False)
        await asyncio.get_running_loop().sock_connect(client, ("127.0.0.1", b.connectors.port))
        reader, writer = await asyncio.open_connection(sock=client, limit=1)

        def is_ended() -> bool:
            if not writer.is_closing():
                writer.write(b"GET / HTTP/1.1\r\nhost: b\r\n\r\n" * 1000)
            return reader.exception() is not None or writer.is_closing()

        await eventually(is_ended)
        writer.close()


@run
async def test_unauthenticated_requests_cannot_fill_the_log(caplog):
    async with Party("b") as b:
        for text in (b"\x16\x03\x01" * 99, b"\xff / HTTP/1.1\r\n\r\n", b"GET / HTTP/1.1\r\nx: " + b"x" * 100_000):
            for _ in range(9):
                reader, writer = await asyncio.open_connection("127.0.0.1", b.connectors.port)
                writer.write(text)
                with suppress(ConnectionError):
                    assert (await reader.read()).startswith(b"HTTP/1.1 400")
                writer.close()
                assert await Stranger().status(b, b"rubbish") == 404
        assert [record.levelname for record in caplog.records if record.levelno >= logging.WARNING] == ["WARNING"]
        assert "connection.refused" in caplog.text


@run
async def test_a_response_does_not_reveal_the_software():
    async with Party("b") as b, httpx.AsyncClient(trust_env=False) as client:
        answer = await client.get(b.url)
        assert set(answer.headers) <= {"content-length", "content-type", "connection"}
