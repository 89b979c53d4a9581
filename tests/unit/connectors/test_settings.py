"""Settings of connectors that cannot work, or would trust any process, are refused at once."""

import math
import subprocess
import sys
from dataclasses import fields, replace
from pathlib import Path

import pytest

from callboard.connectors import ConnectorKey, Connectors, ConnectorSettings, Timing, Tls, read_connector_key
from callboard.errors import ConfigError, ExtraMissing

KEY = ConnectorKey("ring", bytes(range(32)))
URL = "https://b.example.org/callboard/topology"
GOOD = ConnectorSettings(urls=((URL,),), listen="127.0.0.1:0", keys=(KEY,))


BAD_URLS = [
    "ftp://b/x", "https://b", "https://b/x?y=1", "https://b/x?", "https://b/x#y", "https://b/x/../y z", "https://b:port/x",
    "https://b:99999/x", "https:///x", "b.example.org", "https://bücher.example/x", "https://b/x\n", "https://b\\@c/x",
    "https://b/" + "x" * 10**6, "https://ann:hunter2@b/x", "https://ann@b/x",
]  # fmt: skip


@pytest.mark.parametrize(
    ("changes", "why"),
    [
        ({"keys": ()}, "any process could announce"),
        ({"keys": (), "listen": "", "urls": (("http://b/x",),)}, "nothing proves who answers"),
        ({"urls": ((),)}, r"^urls\[0\] is \(\), but should be a list with at least one"),
        ({"urls": (URL,)}, r"^urls\[0\] is '.*', but should be a list"),
        ({"urls": ((URL,), ("https://c/x", URL))}, "listed twice"),
        *(({"urls": ((URL, url),)}, r"^urls\[0\]\[1\] is .*, but should be written as https") for url in BAD_URLS),
        ({"keys": (KEY, replace(KEY, secret=bytes(32)))}, "the same name"),
        ({"keys": KEY}, "^keys is <class .*ConnectorKey'>, but should be a list"),
        ({"keys": KEY.secret.hex()}, "^keys is <class 'str'>, but should be a list"),
        ({"keys": (KEY, KEY.secret.hex())}, "^keys is <class 'tuple'>, but should be a list"),
        ({"keys": {"ring": KEY.secret.hex()}}, "^keys is <class 'dict'>, but should be a list"),
        ({"allow": "10.0.0.0/8"}, r"^allow is '10.0.0.0/8', but should be a list, such as \['10.0.0.0/8'\]"),
        ({"allow": ("10.0.0.0/99",)}, "allow-list"),
        ({"allow": ("10.0.0.1",) * 1001}, "a list of 1000 at most"),
        ({"proxies": ("proxy.example.org",)}, r"^proxies\[0\] is .*, but should be an address or a network"),
        ({"path": "topology"}, "^path is 'topology', but should be a path"),
        ({"path": "/" + "x" * 10**6}, "^path is"),
        *(
            ({"listen": bad}, "host:port")
            for bad in ("8080", "host", ":80", "h:99999", "h:-1", "h:²", "a b:80", "\0:80")
        ),
        ({"timing": Timing(interval_ms=0)}, r"^timing\.interval_ms is 0, but should be a whole number"),
        ({"timing": Timing(interval_ms=True)}, r"^timing\.interval_ms is True"),
        ({"timing": Timing(timeout_ms=3e4)}, r"^timing\.timeout_ms is 30000\.0"),  # type: ignore[arg-type]
        ({"timing": Timing(stable_factor=10**9)}, r"^timing\.stable_factor is"),
        ({"timing": Timing(interval_ms=40_000)}, "shorter than the interval"),
        ({"timing": Timing(interval_ms=300_000, timeout_ms=600_000)}, "and the most is 900000"),
        ({"tls": Tls(None, Path("b"), Path("c"))}, r"^tls\.certificate is None"),  # type: ignore[arg-type]
    ],
)
def test_invalid_settings_are_refused(changes, why):
    with pytest.raises(ConfigError, match=why) as refused:
        replace(GOOD, **changes)
    for secret in ("hunter2", KEY.secret.hex()):
        assert secret not in str(refused.value)
    assert len(str(refused.value)) < 500


WRONG = [None, True, 7, math.nan, b"127.0.0.1:80", ["x", None], [7], {"a": 1}, object(), "", "x" * 10**6, 10**5000]


@pytest.mark.parametrize("field", [each.name for each in fields(ConnectorSettings)])
@pytest.mark.parametrize("value", [pytest.param(each, id=type(each).__name__) for each in WRONG])
def test_a_value_of_the_wrong_type_is_refused_with_the_right_type(field, value):
    if (field, value) in [("listen", ""), ("tls", None), ("bridge", None)]:
        assert not getattr(replace(GOOD, **{field: value}), field)
        return
    with pytest.raises(ConfigError, match=rf"^{field}[^ ]* is .*, but should be"):
        replace(GOOD, **{field: value})


def test_lists_and_generators_are_kept_as_tuples():
    settings = replace(GOOD, urls=[[URL]], keys=(key for key in [KEY]), allow=["10.0.0.1"], proxies={"10.0.0.2"})
    assert (settings.urls, settings.keys) == (((URL,),), (KEY,))
    assert (settings.allow, settings.proxies) == (("10.0.0.1",), ("10.0.0.2",))


@pytest.mark.parametrize(
    ("argument", "value"),
    [("settings", None), ("settings", {}), ("instance", "a b"), ("instance", None), ("local", 7), ("changed", None)],
)
def test_arguments_of_the_wrong_type_are_refused(argument, value):
    given = {"settings": GOOD, "instance": "a", "local": lambda: None, argument: value}
    with pytest.raises(ConfigError, match=rf"^{argument} is .*, but should be"):
        Connectors(given.pop("settings"), **given)


@pytest.mark.parametrize("keys", [None, "ring", [KEY.secret.hex()], KEY, 7])
def test_an_invalid_list_of_keys_is_refused(keys):
    with pytest.raises(ConfigError, match=r"^keys is <class") as refused:
        Connectors(GOOD, instance="a", local=lambda: None).use_keys(keys)
    assert KEY.secret.hex() not in str(refused.value)


def test_an_address_in_ipv6_is_in_brackets():
    assert replace(GOOD, listen="[::1]:80").address() == ("::1", 80)


def test_a_missing_certificate_is_refused(tmp_path):
    with pytest.raises(ConfigError, match=r"certificate cannot be used: authorities .*/c: .*; give files in PEM"):
        Tls(tmp_path / "a", tmp_path / "b", tmp_path / "c").context(server=True)


def test_a_key_is_read_from_its_file_and_never_shown(tmp_path):
    file = tmp_path / "ring.key"
    file.write_text(f"{KEY.secret.hex()}\n")
    file.chmod(0o600)
    assert read_connector_key(f"ring={file}") == KEY
    assert KEY.secret.hex() not in repr(GOOD)
    assert repr(KEY.secret) not in repr(GOOD)


@pytest.mark.parametrize("text", ["", "secret", "0" * 63, "0" * 65, "g" * 64, "00" * 16])
def test_an_empty_short_or_guessable_secret_is_refused(tmp_path, text):
    file = tmp_path / "ring.key"
    file.write_text(text)
    file.chmod(0o600)
    with pytest.raises(ConfigError, match="64 hexadecimal digits"):
        read_connector_key(f"ring={file}")


@pytest.mark.parametrize("peers", [None, 7, "red-1", b"red-1", ("",), ("red 1",), (7,), ("x" * 101,), {"red-1": 1}])
def test_the_peers_of_a_key_are_a_list_of_ids_or_patterns(peers):
    with pytest.raises(ConfigError, match=r"^peers[^ ]* is .*, but should be"):
        ConnectorKey("ring", KEY.secret, peers)
    assert ConnectorKey("ring", KEY.secret, ["red-*"]).peers == ("red-*",)


def test_the_peers_of_a_key_that_is_read_are_no_single_text(tmp_path):
    file = tmp_path / "ring.key"
    file.write_text("ab" * 32)
    file.chmod(0o600)
    with pytest.raises(ConfigError, match=r"^peers is 'red-\*', but should be a list"):  # "*" alone would be anyone
        read_connector_key(f"ring={file}", "red-*")
    assert read_connector_key(f"ring={file}", ["red-*"]).peers == ("red-*",)


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


def test_the_core_imports_no_dependency_of_connectors():
    subprocess.run([sys.executable, "-c", IMPORTS], check=True)


@pytest.mark.parametrize("missing", ["cryptography", "httpx", "starlette", "uvicorn"])
def test_the_error_for_a_missing_package_shows_the_command_that_installs_it(monkeypatch, missing):
    for name in [name for name in sys.modules if name.startswith("callboard.connectors")]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, missing, None)
    with pytest.raises(ExtraMissing, match=rf"need {missing}; run: pip install 'callboard\[connectors\]'"):
        import callboard.connectors  # noqa: F401
