"""Clusters that are connected over HTTP see each other, as long as both are there."""

import socket
from dataclasses import replace

import pytest

from callboard.connectors import ConnectorKey
from callboard.errors import ConfigError
from tests.connectors.parties import PATIENT, QUICK, SLOW, Party, eventually, relayed, run


def unused() -> str:
    """The URL of a port that nothing listens on."""
    with socket.create_server(("127.0.0.1", 0)) as it:
        return f"http://127.0.0.1:{it.getsockname()[1]}/callboard/topology"


@pytest.mark.proves("T63")
@run
async def test_one_exchange_informs_both_sides():
    async with Party("b", timing=SLOW) as b, Party("a", b.url, listens=False, timing=SLOW) as a:
        await eventually(lambda: a.knows and b.knows)
        assert (a.knows, b.knows) == ({"b": "0"}, {"a": "0"})
        (seen,) = b.connectors.remote()
        assert ([each.instance for each in seen.instances], seen.path) == (["a-0", "a-other"], ("a-0",))
        assert seen.leader is seen.instances[0]


@pytest.mark.proves("T64")
@run
async def test_every_cluster_of_a_chain_a_star_or_a_ring_comes_to_know_all_others():
    async with (
        Party("a") as a, Party("b", a.url) as b, Party("c", b.url) as c, Party("d", b.url) as d,
        Party("e", d.url, a.url) as e,
    ):  # fmt: skip
        parties = [a, b, c, d, e]
        for each in parties:
            others = {other.cluster.name for other in parties} - {each.cluster.name}
            await eventually(lambda each=each, others=others: set(each.knows) == others)


@pytest.mark.proves("T69")
@run
async def test_a_change_is_announced_at_once_and_passed_on():
    async with Party("c", timing=SLOW) as c, Party("b", c.url, timing=SLOW) as b, Party("a", b.url, timing=SLOW) as a:
        await eventually(lambda: set(c.knows) == {"a", "b"})
        a.change()
        await eventually(lambda: c.knows["a"] == "1")


@run
async def test_the_service_is_notified_of_changes_only():
    async with Party("b", timing=PATIENT) as b, Party("a", b.url, timing=PATIENT) as a:
        await eventually(lambda: a.knows)
        a.change()
        await eventually(lambda: b.knows == {"a": "1"})
        changes = b.changes
        answered = b.connectors._registry.heard
        for _ in range(3):
            (last,) = answered.values()
            await eventually(lambda last=last: next(iter(answered.values())) is not last)
        assert b.changes == changes


@pytest.mark.proves("T70")
@run
async def test_a_process_that_ends_is_forgotten_at_once():
    async with Party("b", timing=SLOW) as b:
        async with Party("a", b.url, listens=False, timing=SLOW):
            await eventually(lambda: b.knows)
        await eventually(lambda: not b.knows)


@pytest.mark.proves("T71")
@run
async def test_a_process_that_crashes_is_forgotten_when_its_announcement_expires():
    async with Party("b") as b:
        a = Party("a", b.url, listens=False)
        async with a:
            await eventually(lambda: b.knows)
            a.connectors._connectors.clear()  # it notifies no neighbour
        assert b.knows
        await eventually(lambda: not b.knows)


@run
async def test_a_server_that_crashes_is_forgotten_and_found_again_when_it_is_back():
    async with Party("b") as b, Party("a", b.url, listens=False) as a:
        await eventually(lambda: a.knows)
        port = b.connectors.port
        await b.connectors.__aexit__(None, None, None)
        await eventually(lambda: not a.knows)
        assert a.problem.startswith("http://127.0.0.1:")
        b.settings = type(b.settings)(listen=f"127.0.0.1:{port}", keys=b.settings.keys, timing=QUICK)
        b.connectors = b.another()
        await b.connectors.__aenter__()
        await eventually(lambda: a.knows)
        assert a.problem == ""


@pytest.mark.proves("T81")
@run
async def test_the_first_url_that_works_is_used_and_an_earlier_one_again_when_it_returns():
    gone = unused()
    async with Party("spare") as spare, Party("a", (gone, spare.url), listens=False) as a:
        await eventually(lambda: a.knows == {"spare": "0"} and spare.knows)
        assert a.connectors.links()[0].url == spare.url
        first = Party("first")
        first.settings = type(first.settings)(listen=gone[7:].partition("/")[0], keys=first.settings.keys)
        first.connectors = first.another()
        async with first:
            await eventually(lambda: a.knows == {"first": "0"} and first.knows == {"a": "0"})
            await eventually(lambda: not spare.knows)
        await eventually(lambda: a.knows == {"spare": "0"})


@pytest.mark.proves("T67")
@run
async def test_a_url_that_leads_back_to_its_own_process_is_not_asked_again():
    here = unused()
    async with Party("b", timing=PATIENT) as b, relayed(int(here[17:].partition("/")[0])) as relay:
        a = Party("a", relay.url, (relay.url.replace("127.0.0.1", "localhost"), b.url), timing=PATIENT)
        a.settings = replace(a.settings, listen=here[7:].partition("/")[0])
        a.connectors = a.another()
        async with a:
            await eventually(lambda: "leads back to this process" in a.problem and a.knows)
            for _ in range(3):
                (last,) = b.connectors._registry.heard.values()
                await eventually(lambda last=last: last not in b.connectors._registry.heard.values())
            assert len(relay.bodies()) == 2
            assert [each.url for each in a.connectors.links() if each.silent_ms is not None] == [b.url]


@run
async def test_a_connector_to_its_own_process_says_so_although_its_key_is_for_others(caplog):
    of_b = ConnectorKey("of-b", b"b" * 32, ("b-*",))
    async with Party("b", keys=(ConnectorKey("of-b", b"b" * 32, ("a-0",)),)) as b:
        a = Party("a", (here := unused()), b.url, keys=(of_b,))
        a.settings = replace(a.settings, listen=here[7:].partition("/")[0])
        a.connectors = a.another()
        async with a:
            await eventually(lambda: a.problem and a.knows)
            assert "it leads back to this process" in a.problem
    assert "it leads back to this process" in caplog.text


@run
async def test_members_of_one_cluster_share_what_they_know_of_other_clusters():
    async with Party("b") as b, Party("a", b.url) as one:
        other = Party("a", one.url)
        other.cluster, other.name = one.cluster, "a-other"
        other.connectors = other.another()
        async with other:
            await eventually(lambda: one.knows and other.knows == {"b": "0"})
            assert other.connectors.remote()[0].path == ("b-0", "a-0")
            assert len(other.connectors.remote()) == 1


@run
async def test_a_process_announces_nothing_until_it_is_in_a_cluster():
    async with Party("b", timing=SLOW) as b:
        a = Party("a", b.url, timing=SLOW)
        a.in_cluster = False
        async with a:
            await eventually(lambda: "in no cluster" in a.problem)
            assert b.knows == {}
            a.in_cluster = True
            a.connectors.local_changed()
            await eventually(lambda: b.knows == {"a": "0"} and a.knows == {"b": "0"})


@pytest.mark.proves("T80")
@run
async def test_a_server_in_no_cluster_asks_to_try_again():
    async with Party("b") as b, Party("a", b.url, listens=False) as a:
        b.in_cluster = False
        await eventually(lambda: "in no cluster" in a.problem)
        b.in_cluster = True
        await eventually(lambda: a.knows == {"b": "0"})


@pytest.mark.proves("T62")
@pytest.mark.parametrize("ahead_s", [0, 60, -60, 400, -400])
@run
async def test_a_clock_difference_is_reported_even_if_it_prevents_the_exchange(ahead_s, caplog):
    async with Party("b") as b:
        b.clock_ahead_s = ahead_s
        async with Party("a", b.url, listens=False) as a:
            await eventually(lambda: a.knows or "the clocks are too far apart" in a.problem)
            assert abs(a.connectors.links()[0].ahead_ms - ahead_s * 1000) < 20_000
            assert bool(a.knows) is (abs(ahead_s) < 300)
    assert caplog.text.count("clock.differs") == bool(ahead_s)


@run
async def test_large_clusters_are_announced():
    async with Party("b") as b:
        a = Party("a", b.url, listens=False)
        a.cluster.members += [f"a-{n}" for n in range(1, 900)]
        async with a:
            await eventually(lambda: b.knows)
            assert len(b.connectors.remote()[0].instances) == 901


@run
async def test_an_error_of_the_services_own_function_is_logged_and_raised_at_the_end(caplog):
    async with Party("b") as b:
        a = Party("a", b.url, listens=False)
        a.connectors.changed = lambda: 1 / 0
        await a.connectors.__aenter__()
        await eventually(lambda: "connector.ended" in caplog.text)
        assert "it has ended, because of ZeroDivisionError" in a.connectors.links()[0].problem
        with pytest.raises(ZeroDivisionError):
            await a.connectors.__aexit__(None, None, None)


@run
async def test_connectors_that_are_open_are_not_opened_again():
    async with Party("a") as a:
        port = a.connectors.port
        with pytest.raises(ConfigError, match="these connectors are open already"):
            await a.connectors.__aenter__()
        assert a.connectors.port == port


@run
async def test_a_neighbour_that_is_one_too_many_is_ignored_and_logged(monkeypatch, caplog):
    monkeypatch.setattr("callboard.actors.topology.announcements.registry.NEIGHBOURS_MAX", 1)
    async with Party("b") as b, Party("a", b.url), Party("c", b.url, listens=False) as c:
        await eventually(lambda: c.knows)
        await eventually(lambda: "announcement.ignored" in caplog.text)
        assert len(b.knows) == 1
