"""A peer cannot impersonate another one: keys and certificates prevent it."""

import httpx
import pytest

from callboard.connectors import ConnectorKey
from callboard.errors import Undecodable
from callboard.http_server import Server
from callboard.messages.topology.connector_messages import Announcement
from tests.connectors.parties import OLD, PATH, PATIENT, Party, Stranger, eventually, run
from tests.connectors.test_who_may_connect import Authority
from tests.unit.actors.topology.test_announcements import cluster, said

OF_A = ConnectorKey("of-a", b"a" * 32, ("a-0",))
OF_EVIL = ConnectorKey("of-evil", b"e" * 32, ("evil-*",))
AT_A = ConnectorKey("of-a", b"a" * 32, ("b-0",))
AT_EVIL = ConnectorKey("of-evil", b"e" * 32)
FAKE = said(cluster("a", "a-0", epoch=99))


@pytest.mark.proves("T74")
@pytest.mark.parametrize("key", [AT_EVIL, OLD], ids=["its own key", "the key of all others"])
@run
async def test_an_instance_with_a_key_of_its_own_cannot_be_impersonated_with_another_key(key):
    async with (
        Party("b", keys=(OF_A, OF_EVIL, OLD), timing=PATIENT) as b,
        Party("a", b.url, listens=False, keys=(AT_A,), timing=PATIENT) as a,
    ):
        await eventually(lambda: b.knows == {"a": "0"} and a.knows)
        as_a = Stranger("a-0", key)
        as_a.identity._counter = 2**62
        assert await as_a.status(b, as_a.sealed(b, FAKE)) == 404
        assert await as_a.status(b, as_a.sealed(b, Announcement(), "DELETE"), "DELETE") == 404
        a.change()
        await eventually(lambda: b.knows == {"a": "1"})  # nor is its counter used up
        evil = Stranger("evil-0", AT_EVIL)
        assert await evil.status(b, evil.sealed(b, said(cluster("evil", "evil-0")))) == 200
        assert set(b.knows) == {"a", "evil"}


@run
async def test_an_answer_in_the_name_of_another_instance_is_ignored():
    evil = Stranger("b-0", AT_EVIL).identity

    async def answering(scope, receive, send):
        body, more = b"", True
        while more:
            message = await receive()
            body, more = body + message["body"], message["more_body"]
        try:
            request = evil.asked("PUT", PATH, body, None)
            answer = evil.answer("PUT", PATH, request, said(cluster("b", "b-0")))
            status = 200 if request.envelope.receiver == evil.address else 409
        except Undecodable:
            status, answer = 404, b""
        await send({"type": "http.response.start", "status": status, "headers": []})
        await send({"type": "http.response.body", "body": answer})

    server = Server(answering, ("127.0.0.1", 0), None)
    await server.start()
    try:
        url = f"http://127.0.0.1:{server.port}{PATH}"
        async with Party("a", url, listens=False, keys=(AT_EVIL,)) as a:
            await eventually(lambda: a.knows == {"b": ""})
        for keys in [(OF_EVIL,), (AT_A, AT_EVIL)]:
            async with Party("a", url, listens=False, keys=keys) as a:
                await eventually(lambda a=a: "not that of b-0" in a.problem)
                assert a.knows == {}
    finally:
        await server.stop()


@run
async def test_with_a_key_for_each_neighbour_a_connector_finds_the_right_one():
    of_b, of_c = (ConnectorKey(f"of-{name}", name.encode() * 32, (f"{name}-*",)) for name in "bc")
    at = {name: ConnectorKey(f"of-{name}", name.encode() * 32, ("a-0",)) for name in "bc"}
    async with (
        Party("b", keys=(at["b"],)) as b, Party("c", keys=(at["c"],)) as c,
        Party("a", b.url, c.url, listens=False, keys=(of_b, of_c)) as a,
    ):  # fmt: skip
        await eventually(lambda: set(a.knows) == {"b", "c"} and set(b.knows) == {"a", "c"})
        await eventually(lambda: set(c.knows) == {"a", "b"})
        b.connectors.use_keys([ConnectorKey("newer", b"n" * 32, ("a-0",)), at["b"]])
        a.connectors.use_keys([ConnectorKey("newer", b"n" * 32, ("b-0",)), of_c])
        a.change()
        await eventually(lambda: b.knows["a"] == c.knows["a"] == "1")


@pytest.mark.proves("T74")
@run
async def test_a_certificate_is_valid_for_the_instances_that_it_names(tmp_path):
    authority = Authority(tmp_path, "ours")
    async with Party("b", keys=(), tls=authority.issue("b", authority)) as b:
        url = b.url.replace("http:", "https:")
        context = authority.issue("evil", authority).context(server=False)
        async with httpx.AsyncClient(verify=context, trust_env=False) as client:
            for name, status in [("a-0", 404), ("evil-1", 404), ("b-0", 404), ("evil-0", 200)]:
                stranger = Stranger(name, None)
                body = stranger.sealed(b, said(cluster("x", name)))
                assert (await client.put(url, content=body)).status_code == status, name
            gone = Stranger("a-0", None)
            assert (
                await client.request("DELETE", url, content=gone.sealed(b, Announcement(), "DELETE"))
            ).status_code == 404
        assert [each.path for each in b.connectors.remote()] == [("evil-0",)]


@run
async def test_a_server_answers_only_under_a_name_in_its_certificate(tmp_path):
    authority = Authority(tmp_path, "ours")
    async with Party("b", keys=(), tls=authority.issue("evil", authority)) as b:
        url = b.url.replace("http:", "https:")
        async with Party("a", url, listens=False, keys=(), tls=authority.issue("a", authority)) as a:
            await eventually(lambda: "not that of b-0" in a.problem)
            assert a.knows == {}
