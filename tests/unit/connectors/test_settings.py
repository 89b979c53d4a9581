"""Settings of connectors that cannot work, or would trust everybody, are refused at once."""

import subprocess
import sys
from dataclasses import replace

import pytest

from callboard.connectors import ConnectorKey, Connectors, ConnectorSettings, Timing, Tls, read_connector_key
from callboard.errors import ConfigError, ExtraMissing

KEY = ConnectorKey("ring", bytes(range(32)))
URL = "https://b.example.org/callboard/topology"
GOOD = ConnectorSettings(urls=((URL,),), listen="127.0.0.1:0", keys=(KEY,))


def made(settings: ConnectorSettings) -> Connectors:
    return Connectors(settings, instance="a", local=lambda: None)


@pytest.mark.parametrize(
    ("changes", "why"),
    [
        ({"keys": ()}, "everybody could announce"),
        ({"keys": (), "listen": "", "urls": (("http://b/x",),)}, "nothing proves who answers"),
        ({"urls": ((),)}, "has no URL"),
        ({"urls": (("ftp://b/x",),)}, "is written as https"),
        ({"urls": (("https://b",),)}, "is written as https"),
        ({"urls": (("https://b/x?y=1",),)}, "is written as https"),
        ({"urls": (("https://b/x/../y z",),)}, "is written as https"),
        ({"urls": (("https://b:port/x",),)}, "is written as https"),
        ({"urls": (("https://ann:secret@b/x",),)}, "use a key instead"),
        ({"keys": (KEY, replace(KEY, secret=bytes(32)))}, "the same name"),
        ({"allow": ("10.0.0.0/99",)}, "allow-list"),
        ({"proxies": ("proxy.example.org",)}, "of a proxy"),
        ({"path": "topology"}, "is no path"),
        ({"timing": Timing(interval_ms=0)}, "shorter than the interval"),
        ({"timing": Timing(interval_ms=40_000)}, "shorter than the interval"),
        ({"timing": Timing(interval_ms=300_000, timeout_ms=600_000)}, "and the most is 900000"),
    ],
)
def test_settings_that_cannot_work_are_refused(changes, why):
    made(GOOD)
    with pytest.raises(ConfigError, match=why) as refused:
        made(replace(GOOD, **changes))
    assert "secret" not in str(refused.value)


@pytest.mark.parametrize("listen", ["8080", "host", ":80", "host:99999", "host:-1"])
def test_an_address_to_listen_on_has_a_host_and_a_port(listen):
    with pytest.raises(ConfigError, match="host:port"):
        replace(GOOD, listen=listen).address()


def test_an_address_in_ipv6_is_in_brackets():
    assert replace(GOOD, listen="[::1]:80").address() == ("::1", 80)


def test_a_missing_certificate_is_refused(tmp_path):
    with pytest.raises(ConfigError, match="certificate cannot be used"):
        Tls(tmp_path / "a", tmp_path / "b", tmp_path / "c").context(server=True)


def test_a_key_is_read_from_its_file_and_never_shown(tmp_path):
    file = tmp_path / "ring.key"
    file.write_text(f"{KEY.secret.hex()}\n")
    file.chmod(0o600)
    assert read_connector_key(f"ring={file}") == KEY
    assert KEY.secret.hex() not in repr(GOOD)
    assert repr(KEY.secret) not in repr(GOOD)


@pytest.mark.parametrize("text", ["", "secret", "0" * 63, "0" * 65, "g" * 64, "00" * 16])
def test_a_secret_that_is_empty_short_or_no_random_bytes_is_refused(tmp_path, text):
    file = tmp_path / "ring.key"
    file.write_text(text)
    file.chmod(0o600)
    with pytest.raises(ConfigError, match="64 hexadecimal digits"):
        read_connector_key(f"ring={file}")


@pytest.mark.parametrize("secret", [b"", bytes(31), bytes(33), "0" * 32])
def test_a_key_is_32_bytes(secret):
    with pytest.raises(ConfigError, match="must be 32 bytes"):
        ConnectorKey("ring", secret)


IMPORTS = """
import sys
import callboard, callboard.sync, callboard.cli.app, callboard.board.board
found = {name.partition(".")[0] for name in sys.modules} & {"cryptography", "httpx", "starlette", "uvicorn"}
assert not found, found
"""


def test_nothing_of_the_core_imports_what_connectors_need():
    subprocess.run([sys.executable, "-c", IMPORTS], check=True)


@pytest.mark.parametrize("missing", ["cryptography", "httpx", "starlette", "uvicorn"])
def test_a_missing_package_is_answered_with_the_command_that_installs_it(monkeypatch, missing):
    for name in [name for name in sys.modules if name.startswith("callboard.connectors")]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, missing, None)
    with pytest.raises(ExtraMissing, match=rf"need {missing}; run: pip install 'callboard\[connectors\]'"):
        import callboard.connectors  # noqa: F401
