"""Without settings, who is on this host sees the console, and nobody else; what holds for every way to sign in."""

import asyncio
import datetime as dt
import getpass
import ipaddress
import re
import ssl
from pathlib import Path

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

from callboard.web import Access
from callboard.web.signin import guard
from tests.web.signin.consoles import browser, console, diagnostic, problem, run, users_file


@run
async def test_who_is_on_this_host_sees_the_console_as_operator():
    async with console() as someone:
        page = await someone.get("/")
        assert page.status_code == 200
        assert f"{getpass.getuser()} (operator)" in page.text
        assert "Sign out" not in page.text


@pytest.mark.parametrize("host", ["localhost", "LOCALHOST:1", "127.0.0.1:99", "[::1]:8477", "127.1.2.3"])
@run
async def test_every_name_of_this_host_will_do(host):
    async with console() as someone:
        assert (await someone.get("/", headers={"Host": host})).status_code == 200


@pytest.mark.parametrize(
    "host",
    ["evil.example", "localhost.evil.example", "127.0.0.1.evil.example", "10.0.0.1", "", "[::1", "0x7f.1",
     "localhost@evil", "evil.example:127.0.0.1", "[evil]", "localhost\\.evil.example"],
)  # fmt: skip
@run
async def test_a_site_that_has_its_name_lead_to_this_host_reads_nothing(host):
    async with console() as someone:
        for path in ("/", "/live/", "/api/v1/status"):
            assert (await someone.get(path, headers={"Host": host})).status_code == 403
        page = await someone.get("/", headers={"Host": host})
        assert "only this host may see the console" in problem(page)


@pytest.mark.parametrize("name", ["X-Forwarded-For", "Forwarded", "Via", "X-Real-IP", "X-Forwarded-Host"])
@run
async def test_what_a_proxy_passed_on_is_not_from_this_host(name):
    async with console() as someone:
        answer = await someone.get("/api/v1/status", headers={name: "127.0.0.1"})
        assert (answer.status_code, diagnostic(answer)["code"]) == (403, "forbidden")


@pytest.mark.parametrize(
    "headers",
    [{"Origin": "https://evil.example"}, {"Origin": "null"}, {"Origin": "http://127.0.0.1:1"}, {"Origin": "http://["},
     {"Sec-Fetch-Site": "cross-site"}, {"Sec-Fetch-Site": "same-site"}, {"Sec-Fetch-Site": "same-origin, cross-site"}],
)  # fmt: skip
@run
async def test_what_another_site_had_a_browser_send_is_refused(headers):
    async with console() as someone:
        for method in ("POST", "PUT", "DELETE", "PATCH", "OPTIONS", "TRACE", "X"):
            page = await someone.request(method, "/", headers=headers)
            assert page.status_code == 403
            assert "another site" in problem(page)
        assert (await someone.get("/", headers=headers)).status_code == 200  # a link
        for mode in ("cors", "no-cors", "websocket"):
            for path in ("/", "/live/", "/api/v1/status", "/static/console.js"):
                assert (await someone.get(path, headers=headers | {"Sec-Fetch-Mode": mode})).status_code == 403
        assert (await someone.get("/", headers=headers | {"Sec-Fetch-Mode": "navigate"})).status_code == 200


@run
async def test_what_this_site_or_no_browser_sends_is_let_through():
    async with console() as someone:
        here = str(someone.base_url)
        for headers in ({}, {"Origin": here}, {"Sec-Fetch-Site": "same-origin", "Origin": "http://proxy.example"}):
            assert (await someone.post("/", headers=headers)).status_code == 405


@run
async def test_every_answer_says_what_a_browser_may_do_with_it():
    async with console() as someone:
        for path in ("/", "/nowhere", "/static/console.css", "/static/nothing", "/api/v1/nothing"):
            headers = (await someone.get(path)).headers
            assert headers["content-security-policy"].startswith("default-src 'none'; script-src 'self'; style-src")
            assert "unsafe" not in headers["content-security-policy"]
            assert headers["x-content-type-options"] == "nosniff"
            assert headers["referrer-policy"] == "same-origin"
            assert headers["cache-control"] == "no-store"
            assert not {"server", "strict-transport-security"} & set(headers)
        async with someone.stream("GET", "/live/") as stream:
            assert stream.headers["x-content-type-options"] == "nosniff"


@run
async def test_static_files_are_kept_as_long_as_they_stay_the_same():
    async with console() as someone:
        named = re.findall(r'(?:href|src)="(/static/[^"]+)"', (await someone.get("/")).text)
        assert len(named) > 3
        for path in named:
            assert (await someone.get(path)).headers["cache-control"] == "public, max-age=31536000, immutable"
        missing = await someone.get(named[0].replace("/static/", "/static/no-"))
        assert (missing.status_code, missing.headers["cache-control"]) == (404, "no-store")


def certificate(folder: Path) -> tuple[Path, Path]:
    """A certificate of this host, and its key."""
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "127.0.0.1")])
    now = dt.datetime.now(dt.UTC)
    made = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - dt.timedelta(days=1))
        .not_valid_after(now + dt.timedelta(days=2))
        .add_extension(x509.SubjectAlternativeName([x509.IPAddress(ipaddress.ip_address("127.0.0.1"))]), critical=False)
        .sign(key, hashes.SHA256())
    )
    paths = folder / "tls.crt", folder / "tls.key"
    paths[0].write_bytes(made.public_bytes(serialization.Encoding.PEM))
    plain = serialization.NoEncryption()
    paths[1].write_bytes(key.private_bytes(serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, plain))
    return paths


@run
async def test_over_tls_a_browser_is_told_to_come_back_over_tls(tmp_path):
    files = certificate(tmp_path)
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    context.load_cert_chain(*files)
    async with console(context=context) as someone:
        async with browser(str(someone.base_url), verify=ssl.create_default_context(cafile=files[0])) as trusting:
            headers = (await trusting.get("/")).headers
        assert headers["strict-transport-security"] == "max-age=31536000"


@run
async def test_a_large_or_slow_or_broken_body_is_refused_before_anything_is_done(tmp_path, monkeypatch):
    monkeypatch.setattr(guard, "BODY_S", 0.3)
    async with console() as someone:
        large = await someone.post("/api/v1/x", content=b"x" * (guard.BODY_BYTES_MAX + 1))
        assert (large.status_code, diagnostic(large)["code"]) == (413, "too_large")
        reader, writer = await asyncio.open_connection("127.0.0.1", someone.base_url.port)
        writer.write(b"POST /api/v1/x HTTP/1.1\r\nHost: localhost\r\nContent-Length: 9\r\n\r\nx")
        late = await reader.readuntil(b"]}")
        assert late.startswith(b"HTTP/1.1 408")
        assert b'"code": "timeout"' in late
        writer.close()
    async with console(access=Access(users=users_file(tmp_path))) as someone:
        assert (await someone.post("/sign-in", content=b"x" * (guard.FORM_BYTES_MAX + 1))).status_code == 413


@run
async def test_the_console_works_below_a_path_no_matter_whether_a_proxy_removes_it():
    async with console(root_path="/ops/callboard") as someone:
        for path in ("/", "/ops/callboard/"):
            page = await someone.get(path)
            assert page.status_code == 200
            assert 'data-live="/ops/callboard/live/"' in page.text
            assert 'src="/ops/callboard/static/console.js' in page.text
        for path in ("/static/console.js", "/ops/callboard/static/console.js"):
            assert (await someone.get(path)).status_code == 200
        for path in ("/api/x", "/ops/callboard/api/x"):
            assert diagnostic(await someone.get(path, headers={"Host": "evil.example"}))["code"] == "forbidden"
