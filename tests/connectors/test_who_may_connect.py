"""Who may connect: by key, certificate or address, also behind a proxy, and while keys are changed."""

import ssl
from datetime import UTC, datetime, timedelta
from ipaddress import ip_address
from pathlib import Path

import httpx
import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

from callboard.connectors import ConnectorSettings, Tls
from callboard.errors import ConfigError
from tests.connectors.parties import NEW, OLD, PATH, PATIENT, Party, Stranger, eventually, run
from tests.unit.actors.topology.test_announcements import cluster, said

NOW = datetime.now(UTC)


@pytest.mark.proves("T73", "T78")
@pytest.mark.parametrize(
    ("allow", "forwarded", "status"),
    [
        ((), "", 200),
        (("127.0.0.1/32",), "", 200),
        (("127.0.0.0/31",), "", 200),
        (("localhost",), "", 200),
        (("127.0.*",), "", 200),
        (("192.0.2.0/24", "::1"), "", 404),
        (("192.0.2.0/24",), "192.0.2.7", 200),
        (("192.0.2.0/24",), "192.0.2.7, 198.51.100.1", 404),
        (("127.0.0.1",), "198.51.100.1", 404),
    ],
)
@run
async def test_addresses_outside_the_allow_list_are_refused_even_with_the_key(allow, forwarded, status):
    proxies = ("127.0.0.0/8",) if forwarded else ()
    async with Party("b", allow=allow, proxies=proxies) as b:
        stranger = Stranger()
        body = stranger.sealed(b, said(cluster("evil", "evil-0")))
        headers = {"x-forwarded-for": forwarded} if forwarded else {}
        assert await stranger.status(b, body, headers=headers) == status
        assert bool(b.knows) == (status == 200)


@run
async def test_the_header_of_an_untrusted_proxy_is_ignored():
    async with Party("b", allow=("192.0.2.7",)) as b:
        stranger = Stranger()
        body = stranger.sealed(b, said(cluster("evil", "evil-0")))
        assert await stranger.status(b, body, headers={"x-forwarded-for": "192.0.2.7"}) == 404


@pytest.mark.proves("T73")
@pytest.mark.parametrize("host", ["127.0.0.1", "[::1]"])
@run
async def test_ipv4_and_ipv6_both_work(host):
    address = host.strip("[]")
    b = Party("b", allow=(f"{address}/128" if ":" in address else f"{address}/32",))
    b.settings = ConnectorSettings(listen=f"{host}:0", keys=(OLD,), allow=b.settings.allow)
    b.connectors = b.another()
    async with b, Party("a", b.url.replace("127.0.0.1", host), listens=False) as a:
        await eventually(lambda: a.knows and b.knows)


@pytest.mark.proves("T75")
@run
async def test_changing_a_key_while_messages_are_under_way_loses_no_member():
    async with Party("b", timing=PATIENT) as b, Party("a", b.url, listens=False, timing=PATIENT) as a:
        seen, problems = [], []

        async def some_exchanges() -> None:
            heard = b.connectors._registry.heard
            for _ in range(3):
                (last,) = heard.values()
                await eventually(lambda last=last: next(iter(heard.values()), None) is not last)
                seen.append((set(a.knows), set(b.knows)))
                problems.append(a.problem)

        await eventually(lambda: a.knows and b.knows)
        under_way = Stranger("c-0").sealed(b, said(cluster("c")))
        steps = [(b, (OLD, NEW)), (a, (OLD, NEW)), (a, (NEW, OLD)), (b, (NEW, OLD)), (b, (NEW,)), (a, (NEW,))]
        for party, keys in steps:
            if keys == (NEW,) and party is b:
                assert await Stranger().status(b, under_way) == 400  # opened: c-0 is none of c
                late = Stranger("c-0").sealed(b, said(cluster("c", "c-0")))
            party.connectors.use_keys(keys)
            await some_exchanges()
        assert {frozenset(knows) for knows, _ in seen} == {frozenset({"b"})}
        assert {frozenset(knows) for _, knows in seen} == {frozenset({"a"})}
        assert set(problems) == {""}
        assert await Stranger().status(b, late) == 404


@run
async def test_changing_keys_cannot_turn_encryption_off():
    async with Party("b") as b:
        with pytest.raises(ConfigError, match="restart"):
            b.connectors.use_keys(())


def test_a_private_key_with_a_password_is_refused_without_a_prompt(tmp_path):
    authority = Authority(tmp_path, "ours")
    tls = authority.issue("a", authority)
    key = serialization.load_pem_private_key(tls.private_key.read_bytes(), None)
    hidden = serialization.BestAvailableEncryption(b"hunter2")
    tls.private_key.write_bytes(
        key.private_bytes(serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, hidden)
    )
    with pytest.raises(ConfigError, match="certificate cannot be used"):
        tls.context(server=True)


@run
async def test_nothing_listens_unless_it_is_configured():
    async with Party("a", listens=False) as a:
        assert a.connectors.port == 0
        assert a.connectors.links() == ()


@run
async def test_a_port_in_use_is_reported_as_a_configuration_error():
    async with Party("b") as b:
        a = Party("a")
        a.settings = ConnectorSettings(listen=f"127.0.0.1:{b.connectors.port}", keys=(OLD,))
        a.connectors = a.another()
        with pytest.raises(ConfigError, match=r"cannot listen on 127\.0\.0\.1"):
            await a.connectors.__aenter__()


class Authority:
    """Signs certificates for 127.0.0.1."""

    def __init__(self, folder: Path, name: str) -> None:
        self.folder, self.name = folder, x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)])
        self.key = ec.generate_private_key(ec.SECP256R1())
        self.file = folder / f"{name}.pem"
        basic = x509.BasicConstraints(ca=True, path_length=None)
        usage = x509.KeyUsage(
            digital_signature=True, key_cert_sign=True, crl_sign=True, content_commitment=False, key_encipherment=False,
            data_encipherment=False, key_agreement=False, encipher_only=False, decipher_only=False,
        )  # fmt: skip
        made = self.builder(self.name, self.key).add_extension(basic, critical=True).add_extension(usage, critical=True)
        subject = x509.SubjectKeyIdentifier.from_public_key(self.key.public_key())
        self.file.write_bytes(self.pem(made.add_extension(subject, critical=False)))

    def builder(self, subject: x509.Name, key: ec.EllipticCurvePrivateKey) -> x509.CertificateBuilder:
        return (
            x509.CertificateBuilder().subject_name(subject).issuer_name(self.name).public_key(key.public_key())
            .serial_number(x509.random_serial_number()).not_valid_before(NOW - timedelta(days=1))
            .not_valid_after(NOW + timedelta(days=1))
        )  # fmt: skip

    def pem(self, builder: x509.CertificateBuilder) -> bytes:
        return builder.sign(self.key, hashes.SHA256()).public_bytes(serialization.Encoding.PEM)

    def issue(self, who: str, trusts: "Authority", *speaks_for: str) -> Tls:
        """A certificate for 127.0.0.1 and these instances, or for the member ``WHO-0``."""
        key = ec.generate_private_key(ec.SECP256R1())
        instances = [x509.DNSName(each) for each in speaks_for or (f"{who}-0",)]
        names = x509.SubjectAlternativeName([x509.IPAddress(ip_address("127.0.0.1")), *instances])
        issuer = x509.AuthorityKeyIdentifier.from_issuer_public_key(self.key.public_key())
        builder = self.builder(x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, who)]), key)
        builder = builder.add_extension(names, critical=False).add_extension(issuer, critical=False)
        certificate, private = self.folder / f"{who}.pem", self.folder / f"{who}.key"
        certificate.write_bytes(self.pem(builder))
        private.write_bytes(
            key.private_bytes(
                serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
            )
        )
        return Tls(certificate, private, trusts.file)


@pytest.mark.parametrize("keys", [(), (OLD,)], ids=["certificates only", "certificates and keys"])
@run
async def test_with_certificates_both_sides_authenticate_each_other(tmp_path, keys):
    authority = Authority(tmp_path, "ours")
    async with Party("b", keys=keys, tls=authority.issue("b", authority)) as b:
        url = b.url.replace("http:", "https:")
        async with Party("a", url, listens=False, keys=keys, tls=authority.issue("a", authority)) as a:
            await eventually(lambda: a.knows and b.knows)


@run
async def test_a_peer_without_a_certificate_of_the_authority_is_refused_on_either_side(tmp_path):
    ours, theirs = Authority(tmp_path, "ours"), Authority(tmp_path, "theirs")
    async with Party("b", keys=(), tls=ours.issue("b", ours)) as b:
        url = b.url.replace("http:", "https:")
        for tls in (theirs.issue("evil", ours), theirs.issue("evil", theirs), None):
            async with Party("evil", url, listens=False, keys=(), tls=tls) as evil:
                await eventually(lambda evil=evil: evil.problem)
                assert (evil.knows, b.knows) == ({}, {})
        trusting = ssl.create_default_context(cafile=str(ours.file))
        async with httpx.AsyncClient(verify=trusting, trust_env=False) as client:
            with pytest.raises(httpx.HTTPError):
                await client.get(f"https://127.0.0.1:{b.connectors.port}{PATH}")
