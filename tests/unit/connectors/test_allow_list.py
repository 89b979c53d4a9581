"""Which addresses an allow-list admits, and whose address counts behind proxies."""

import asyncio

import pytest

from callboard.connectors.allow_list import AllowList, addresses_of, as_network, client_of
from callboard.errors import ConfigError

NAMES = {"web.example.org": {"192.0.2.7", "2001:db8::7"}, "liar.example.org": {"192.0.2.99"}}
REVERSE = {"192.0.2.7": {"web.example.org"}, "192.0.2.8": {"liar.example.org"}, "192.0.2.9": {"WEB.example.org"}}


def admits(entry: str, address: str) -> bool:
    async def forward(name):
        if name == "broken.example.org":
            raise OSError("no resolver")
        return frozenset(NAMES.get(name, ()))

    async def reverse(of):
        return frozenset(REVERSE.get(of, ()))

    return asyncio.run(AllowList([entry], forward, reverse).admits(address))


@pytest.mark.proves("T73")
@pytest.mark.parametrize(
    ("entry", "inside", "outside"),
    [
        ("192.0.2.7", "192.0.2.7", "192.0.2.8"),
        ("192.0.2.7", "::ffff:192.0.2.7", "::ffff:192.0.2.8"),
        ("192.0.2.0/24", "192.0.2.0", "192.0.3.0"),
        ("192.0.2.0/24", "192.0.2.255", "192.0.1.255"),
        ("192.0.2.77/24", "192.0.2.1", "192.0.3.1"),
        ("192.0.2.6/31", "192.0.2.7", "192.0.2.8"),
        ("192.0.2.6/31", "192.0.2.6", "192.0.2.5"),
        ("192.0.2.7/32", "192.0.2.7", "192.0.2.6"),
        ("192.0.2.0 255.255.255.0", "192.0.2.9", "192.0.3.9"),
        ("192.0.*", "192.0.2.7", "192.1.2.7"),
        ("192.0.2.?", "192.0.2.7", "192.0.2.77"),
        ("2001:db8::7", "2001:0DB8:0::7", "2001:db8::8"),
        ("2001:db8::/48", "2001:db8:0:1::1", "2001:db8:1::1"),
        ("2001:db8::7/128", "2001:db8::7", "2001:db8::6"),
        ("2001:db8::6/127", "2001:db8::7", "2001:db8::8"),
        ("2001:db8:*", "2001:db8::7", "2001:db9::7"),
        ("fe80::/10", "fe80::1%eth0", "2001:db8::1"),
        ("web.example.org", "192.0.2.7", "192.0.2.8"),
        ("web.example.org", "2001:db8::7", "192.0.2.8"),
        ("*.example.org", "192.0.2.7", "192.0.2.8"),
        ("WEB.*.org", "192.0.2.7", "192.0.2.9"),
        ("192.0.2.7", "192.0.2.7", "broken"),
    ],
)
def test_an_entry_admits_what_it_describes_and_nothing_else(entry, inside, outside):
    assert admits(entry, inside)
    assert not admits(entry, outside)


@pytest.mark.parametrize("text", ["", "nobody", "192.0.2.7, 192.0.2.8", "*", "192.0.2.7:80", "localhost"])
def test_an_invalid_address_is_never_admitted(text):
    assert not admits("*", text)


def test_a_name_that_cannot_be_resolved_admits_no_address():
    assert not admits("broken.example.org", "192.0.2.7")


@pytest.mark.parametrize(
    "entry", ["", "192.0.2.0/33", "1.2.3.4.5", "10.0.0", "a b c", "https://a", "[a-z]*", "-x", "a" * 300]
)
def test_an_entry_of_an_unknown_kind_is_refused(entry):
    with pytest.raises(ConfigError, match="no entry of an allow-list"):
        AllowList([entry], None, None)  # type: ignore[arg-type]


def test_the_system_resolves_the_name_of_this_host():
    assert asyncio.run(addresses_of("localhost")) & {"127.0.0.1", "::1"}


PROXIES = tuple(network for each in ("10.0.0.0/8", "2001:db8::1") if (network := as_network(each)))


@pytest.mark.parametrize(
    ("peer", "forwarded", "client"),
    [
        ("192.0.2.7", [], "192.0.2.7"),
        ("192.0.2.7", ["127.0.0.1"], "192.0.2.7"),
        ("10.0.0.1", ["192.0.2.7"], "192.0.2.7"),
        ("10.0.0.1", ["127.0.0.1, 192.0.2.7"], "192.0.2.7"),
        ("10.0.0.1", ["127.0.0.1", "192.0.2.7, 10.0.0.2"], "192.0.2.7"),
        ("2001:db8::1", ["2001:db8::7"], "2001:db8::7"),
        ("10.0.0.1", ["10.0.0.3, 10.0.0.2"], "10.0.0.3"),
        ("10.0.0.1", [], "10.0.0.1"),
        ("10.0.0.1", ["127.0.0.1, nonsense"], "nonsense"),
        ("10.0.0.1", [""], ""),
    ],
)
def test_behind_trusted_proxies_the_client_is_the_last_address_that_is_not_a_proxy(peer, forwarded, client):
    assert client_of(peer, forwarded, PROXIES) == client
