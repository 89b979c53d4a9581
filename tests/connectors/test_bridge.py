"""Clusters of the original are known, and told, over version 1 of the protocol; nobody without its secret is."""

import json
from dataclasses import replace

import pytest

from callboard.connectors import Bridge, ConnectorKey, Connectors, ConnectorSettings, Timing
from callboard.connectors.version1 import SharedSecret
from callboard.errors import ConfigError, Undecodable
from tests.connectors.old_peer import PATH, SECRET, OldPeer, encrypted, instance, tree, trust
from tests.connectors.parties import OLD, Party, eventually, run

EVERY = Timing(interval_ms=100, timeout_ms=20_000, stable_factor=1)
BRIDGE = Bridge(secret=SECRET.encode(), timing=EVERY)

NUMBER = 98765
BODY = '{"payload": ["AAECAwQFBgcI", "EBESExQVFhcYGRobHB0eHw==", "Brl/cxiq6HQLU3orZxgCa2kE/GpIF9/Eg4j5AOgLuks="]}'
HASH, MAC = "HapPhQVBn+qAHpXKLwPSteVOoS5BiVfxkkE4IGauW/0=", "RAbZERHXbfMiToP9el6HGIVGcSbBDiuFj2Okb/r/lPE="
NO_BODY_HASH, NO_BODY_MAC = (
    "oMd1JnA6m5YAl+QaoCNHJl+eqct9zOdJlqF5KG4xii0=",
    "Ml+sGQhJtywwY50icu40Z8gK5bkVQMyifRLpgIXJy5M=",
)
"""Made with openssl for this secret, path and number of a key, with the salt 00 01 02... and the IV 10 11 12..."""


def secret() -> SharedSecret:
    return SharedSecret(SECRET.encode(), 1000, lambda size: bytes(range(size)) if size == 9 else bytes(range(16, 32)))


@pytest.mark.proves("T74", "T75", "T76")
@pytest.mark.parametrize("away", [-1, 0, 1])
def test_bytes_that_openssl_made_are_made_and_read(away):
    path, now_ms = f"{PATH}.old-1.json", NUMBER * 1000 + 999
    body, headers = secret().sealed("request", path, '{"ownerId":"old-1"}', now_ms)
    assert body.decode() == BODY
    assert headers == {"x-slingtopologyhash": HASH, "x-slingtopologytrust": f"{NUMBER}/{MAC}"}
    _, headers_of_none = secret().sealed("request", path, None, now_ms)
    assert headers_of_none == {"x-slingtopologyhash": NO_BODY_HASH, "x-slingtopologytrust": f"{NUMBER}/{NO_BODY_MAC}"}
    assert secret().opened("request", path, headers, body, now_ms + away * 1000) == '{"ownerId":"old-1"}'
    with pytest.raises(Undecodable, match="of another time"):
        secret().opened("request", path, headers, body, now_ms + 2000)


@pytest.mark.proves("T63", "T77")
@pytest.mark.parametrize("gzipped", [False, True], ids=["plain", "gzip"])
@run
async def test_a_call_tells_both_sides(gzipped):
    async with OldPeer(gzipped=gzipped) as old:
        bridge = replace(BRIDGE, urls=(old.url,), gzip=gzipped)
        async with Party("b", bridge=bridge) as b, Party("c", b.url, listens=False) as c:
            await eventually(lambda: set(c.knows) == {"b", "old"} and set(b.knows) == {"c", "old"})
            (seen,) = (each for each in c.connectors.remote() if each.cluster_id == "old")
            assert ([each.instance for each in seen.instances], seen.path) == (
                ["old-1", "old-1-mate"],
                ("old-1", "b-0"),
            )
            assert seen.leader is seen.instances[0]
            assert seen.leader.properties == {"zone": "east"}
            await eventually(lambda: len(old.got[-1]["topologyAnnouncements"]) == 1)
            told = old.got[-1]
            assert (told["ownerId"], told["protocolVersion"], told["localClusterView"]["id"]) == ("b-0", 1, "b")
            assert told["localClusterView"]["instances"][0] == {
                "slingId": "b-0", "isLeader": True, "cluster": "b", "properties": {"note": "0"},
            }  # fmt: skip
            assert [each["ownerId"] for each in told["topologyAnnouncements"]] == ["c-0"]
        assert old.methods[-1] == "DELETE"


@pytest.mark.proves("T63", "T70", "T77")
@pytest.mark.parametrize("gzipped", [False, True], ids=["plain", "gzip"])
@run
async def test_one_who_calls_is_told_and_announced_until_it_withdraws(gzipped):
    async with Party("b", bridge=BRIDGE) as b, Party("c", b.url, listens=False) as c:
        await eventually(lambda: set(b.knows) == {"c"})
        old, port = OldPeer(gzipped=gzipped), b.connectors.port
        far = tree("far-1", "far", tree("b-0", "b"), tree("far-1", "far"))
        status, answer = await old.put(port, tree("old-1", "old", far))
        assert (status, set(b.knows)) == (200, {"c", "far", "old"})
        assert (answer["ownerId"], answer["localClusterView"]["id"]) == ("b-0", "b")
        assert [each["localClusterView"]["id"] for each in answer["topologyAnnouncements"]] == ["c"]
        await eventually(lambda: set(c.knows) == {"b", "far", "old"})
        assert {each.cluster_id: each.path for each in b.connectors.remote()}["far"] == ("far-1", "old-1")
        assert await old.delete(port) == 200
        await eventually(lambda: set(c.knows) == {"b"})


@pytest.mark.proves("T66")
@run
async def test_one_who_is_known_in_another_way_or_of_the_own_cluster_is_told_to_stand_by():
    async with OldPeer() as old, Party("b", bridge=replace(BRIDGE, urls=(old.url,))) as b:
        await eventually(lambda: set(b.knows) == {"old"})
        for owner, announced in [
            ("old-1", tree("old-1")),
            ("b-other", tree("b-other")),
            ("x", tree("x", "x", tree("b-other"))),
        ]:
            status, answer = await old.put(b.connectors.port, announced, owner)
            assert (status, answer["loop"], "localClusterView" in answer) == (200, True, False), owner
        assert set(b.knows) == {"old"}


@run
async def test_an_answer_that_is_a_loop_counts_for_nothing():
    async with OldPeer() as old, Party("b", bridge=replace(BRIDGE, urls=(old.url,))) as b:
        await eventually(lambda: set(b.knows) == {"old"})
        old.reply = {"ownerId": "old-1", "protocolVersion": 1, "created": 2**42, "inherited": False, "loop": True}
        old.reply["created"] = tree("x")["created"] + 60_000
        await eventually(lambda: b.knows == {})
        assert b.problem == ""


BAD_ANSWERS = {
    "another secret": ({"secret": "another shared key of somebody"}, None),
    "a key that is too old": ({"ahead": -2}, None),
    "another version": ({}, tree("old-1", protocolVersion=2)),
    "not of the owner": ({}, {**tree("old-2"), "ownerId": "old-1"}),
    "too old": ({}, tree("old-1", created=1)),
    "no announcement": ({}, {"ownerId": ["old-1"]}),
}  # fmt: skip


@pytest.mark.parametrize("what", BAD_ANSWERS)
@run
async def test_an_answer_that_is_not_authentic_or_not_possible_is_not_believed(what):
    async with OldPeer() as old, Party("b", bridge=replace(BRIDGE, urls=(old.url,))) as b:
        old.answer_trust, old.reply = BAD_ANSWERS[what]
        await eventually(lambda: b.problem)
        assert b.knows == {}


@pytest.mark.proves("T74", "T78")
@run
async def test_strangers_find_nothing_and_messages_count_once():
    async with Party("b", bridge=BRIDGE) as b:
        old, port, path = OldPeer(), b.connectors.port, f"{PATH}.old-1.json"
        good = encrypted(json.dumps(tree("old-1")))
        other = encrypted(json.dumps(tree("old-1")), "another shared key of somebody")
        hostile = {
            "no headers": (good, {}),
            "another secret": (good, trust("request", path, good, "another shared key of somebody")),
            "another secret inside": (other, trust("request", path, other)),
            "an old key": (good, trust("request", path, good, ahead=-2)),
            "a key to come": (good, trust("request", path, good, ahead=2)),
            "another path": (good, trust("request", f"{PATH}.old-2.json", good)),
            "an answer": (good, trust("response", path, good)),
            "another body": (good + " ", trust("request", path, good)),
            "not encrypted": (json.dumps(tree("old-1")), trust("request", path, json.dumps(tree("old-1")))),
            "rubbish": ("\0" * 99, trust("request", path, "\0" * 99)),
            "a padding that is none": (good, trust("request", path, good) | {"X-SlingTopologyTrust": "1e3/"}),
        }
        for what, (body, headers) in hostile.items():
            assert (await old.send(port, "PUT", path, body, headers))[0] == 404, what
        assert (await old.send(port, "DELETE", path, "", trust("request", path, good)))[0] == 404
        assert b.knows == {}
        headers = trust("request", path, good)
        assert [(await old.send(port, "PUT", path, good, headers))[0] for _ in range(2)] == [200, 404]
        for strange in (PATH, f"{PATH}.old-1", f"{PATH}.old.1.json", f"{PATH}.old-1.html"):
            assert (await old.send(port, "PUT", strange, good, trust("request", strange, good)))[0] == 404, strange


@pytest.mark.proves("T79", "T95")
@pytest.mark.parametrize(
    ("announced", "status"),
    [
        (tree("old-2"), 400),
        (tree("old-1", protocolVersion=2), 400),
        ([], 400),
        ({"ownerId": "old-1"}, 400),
        ({**tree("old-1"), "localClusterView": {"id": "<script>", "instances": [instance("old-1", True)]}}, 400),
        ({**tree("old-1"), "localClusterView": {"id": "old", "instances": [instance("old-2", True)]}}, 400),
        ({**tree("old-1"), "localClusterView": {"id": "old", "instances": []}}, 400),
        (tree("old-1", created="now"), 404),
        (tree("old-1", created=10**15), 404),
    ],
)
@run
async def test_what_is_authentic_and_impossible_is_refused(announced, status):
    if isinstance(announced, dict) and announced.get("created", 0) not in ("now", 10**15):
        announced["created"] = tree("x")["created"]
    async with Party("b", bridge=BRIDGE) as b:
        assert (await OldPeer().put(b.connectors.port, announced))[0] == status
        assert b.knows == {}


@pytest.mark.proves("T95")
@run
async def test_nesting_without_end_is_refused():
    deep = "[" * 100_000
    nested = tree("old-1")
    for level in range(40):
        nested = tree(f"n{level}", f"n{level}", nested)
    async with Party("b", bridge=BRIDGE) as b:
        old, path = OldPeer(gzipped=True), f"{PATH}.old-1.json"
        for text in (deep, json.dumps({**tree("old-1"), "topologyAnnouncements": [nested]})):
            body = encrypted(text)
            assert (await old.send(b.connectors.port, "PUT", path, body, trust("request", path, body)))[0] == 400
        bomb = " " * 20_000_000
        assert (await old.send(b.connectors.port, "PUT", path, bomb, trust("request", path, bomb)))[0] == 404


@run
async def test_an_instance_with_a_key_is_not_believed_in_version_1():
    keys = (ConnectorKey("of-a", b"a" * 32, ("a-*",)), OLD)
    async with Party("b", bridge=BRIDGE, keys=keys) as b:
        assert (await OldPeer("a-0").put(b.connectors.port, tree("a-0", "a")))[0] == 404
        assert (await OldPeer("old-1").put(b.connectors.port, tree("old-1")))[0] == 200


@run
async def test_properties_that_callboard_cannot_have_are_left_out():
    many = {f"p{n:03}": "x" * 900 for n in range(100)}
    odd = {"org.example.name": "ok", "a b": "space", "nul": "\0", "long": "x" * 2000}
    announced = tree("old-1")
    announced["localClusterView"]["instances"] = [instance("old-1", True, **odd), instance("old-2", False, **many)]
    async with Party("b", bridge=BRIDGE) as b:
        assert (await OldPeer().put(b.connectors.port, announced))[0] == 200
        first, second = b.connectors.remote()[0].instances
        assert first.properties == {"org.example.name": "ok"}
        assert 10 < len(second.properties) < 20


@run
async def test_without_a_bridge_version_1_finds_nothing():
    async with Party("b") as b:
        assert (await OldPeer().put(b.connectors.port, tree("old-1")))[0] == 404


@run
async def test_a_url_that_leads_back_to_its_own_process_is_asked_once():
    async with OldPeer("b-0") as old, Party("b", bridge=replace(BRIDGE, urls=(old.url,)), keys=(OLD,)) as b:
        await eventually(lambda: "leads back" in b.problem)
        assert old.methods == ["PUT"]


@pytest.mark.parametrize(
    ("changes", "why"),
    [
        ({"secret": b"short"}, "^secret is <class 'bytes'>"),
        ({"secret": SECRET}, "^secret is <class 'str'>"),
        ({"urls": "https://old/x"}, "^urls is"),
        ({"path": "/a.b"}, "^path is"),
        ({"key_ms": 0}, "^key_ms is"),
        ({"gzip": 1}, "^gzip is"),
        ({"timing": Timing(interval_ms=0)}, r"^timing\.interval_ms is"),
        ({"timing": Timing(interval_ms=9, timeout_ms=8)}, "shorter than the interval"),
    ],
)
def test_settings_of_a_bridge_that_cannot_work_are_refused(changes, why):
    with pytest.raises(ConfigError, match=why) as refused:
        replace(BRIDGE, **changes)
    assert SECRET not in str(refused.value) + repr(BRIDGE)
    assert repr(SECRET.encode()) not in repr(ConnectorSettings(bridge=BRIDGE))


def test_an_id_with_a_dot_cannot_be_sent_in_version_1():
    with pytest.raises(ConfigError, match="no dot"):
        Connectors(ConnectorSettings(bridge=BRIDGE), instance="a.b", local=lambda: None)
    with pytest.raises(ConfigError, match="same path"):
        ConnectorSettings(bridge=BRIDGE, path=BRIDGE.path)
