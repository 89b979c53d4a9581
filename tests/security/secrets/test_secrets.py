"""Passwords in addresses, however they are spelt, appear in nothing that is shown, logged or raised."""

import asyncio
import io
import json
import os
import sys
from collections.abc import Callable, Iterator
from contextlib import redirect_stderr
from importlib.metadata import EntryPoint
from importlib.util import find_spec
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest
import structlog
from hypothesis import example, given, settings
from hypothesis import strategies as st

from callboard.actors.subscriber.settings import SubscriberSettings
from callboard.archive.stores import open_archive
from callboard.backends.address import is_shown_in_full, shown
from callboard.backends.blob_stores import open_blob_store
from callboard.backends.blob_stores.s3.bucket import Bucket
from callboard.backends.echo import masked
from callboard.backends.logs.kafka.address import parse_address
from callboard.backends.offered import open_offered
from callboard.backends.postgres.failure import explained
from callboard.backends.postgres.server import Server
from callboard.backends.registry import open_log
from callboard.backends.repositories import open_repository
from callboard.board.connect.opening import repository_place, subscriber_spool
from callboard.board.connect.settings import BoardSettings
from callboard.cli.board import place
from callboard.cli.init import init
from callboard.cli.options import BoardOptions
from callboard.cli.run_command import run
from callboard.cli.terminal import exit_codes
from callboard.cli.terminal.log_setup import configure_logging
from callboard.config import load
from callboard.door import boards, requests, subscribers
from callboard.errors import CallboardError, ConfigError, RequestRefused
from callboard.messages.topics import Topics
from tests.security.secrets.hostile_addresses import HALVES, KINDS, addresses, betrayed, spellings, told

SECRET = "".join(HALVES)
BASE = Path("/nowhere")
PIPELINE = find_spec("pyspark") is not None
"""Without Spark there is nothing to give its addresses to. The tests with servers, which have it, run before these."""

each_kind = pytest.mark.parametrize("address", [kind.format(SECRET) for kind in KINDS], ids=KINDS)


def said_of(address: str) -> Iterator[str]:
    """Every message about an address, from all code that takes one."""
    yield shown(address)
    yield place(address)
    for name in ("log", "blobs", "archive", "blobs_for"):
        yield refusal(lambda name=name: boards.options({name: [address]}))
        yield refusal(lambda name=name: boards.options({name: {"url": address}}))
    yield refusal(lambda: boards.options({"log": address * 200}))
    yield refusal(lambda: boards.options({"log": address.encode(), "runtime": address}))
    yield refusal(lambda: boards.options({"base": address + "\0"}))
    yield refusal(lambda: subscribers.options("edge", address + "\0", {}))
    yield refusal(lambda: subscribers.options("edge", "x", {"on_gap": address, "golden": address}))
    yield refusal(lambda: requests.request({"source": address}, {}), fine=True)
    yield refusal(lambda: requests.request({"source": [Path(address)]}, {}))
    for opener in (open_log, open_blob_store, open_repository, open_archive):
        yield refusal(lambda opener=opener: opener(address, BASE), fine=True)
    for parser in (parse_address, Bucket.of, Server.of):
        yield refusal(lambda parser=parser: parser(address), fine=True)
    if PIPELINE:
        from callboard.pipeline.source.place import Place

        for option in ("archive", "board"):
            yield refusal(lambda option=option: Place.of({option: address}), fine=True)
        yield refusal(lambda: Place.of({"from": address}))
    yield repr(BoardSettings(address, address, BASE, archive=address, blobs_for=address))
    yield repr(SubscriberSettings("edge", Topics.with_prefix("p"), repository=address))
    yield SubscriberSettings("edge", Topics.with_prefix("p"), repository=address).shown_repository
    yield repr(BoardOptions(None, address, address))


def said_of_settings(address: str, folder: Path) -> Iterator[str]:
    """The messages about a configuration with the address in it."""
    text = json.dumps(address, ensure_ascii=False)
    for written in (
        f"log = {text}", f"blobs = {text}", f"log = [{text}]", f"log = [[{text}, 1]]", f"log = {{url = {text}}}",
        f"log = [{{password = {text}}}]", f"{text} = 1", f"[{text}]\nx = 1", f"log = {text}x", f"log = {text[:-1]}",
        f"log = {text}\nlog = {text}", f"log = {text}\nruntime = {text}", f"prefix = [{text}]", f"publisher = {text}",
        f"[subscriber]\ninto = {text}\nstart = {text}", f"[subscribers.edge]\ninto = [{text}]", f"logg = {text}",
        f"[publishers.main.sources]\n{text} = {text}", f"[publisher]\nevents = [{text}]",
        f"[logging]\nlevel = {text}",
    ):  # fmt: skip
        (folder / "callboard.toml").write_text(written)
        yield refusal(lambda: load(cwd=folder), fine=True)
    (folder / "callboard.toml").write_text("")
    for name in ("LOG", "BLOBS", "SUBSCRIBER__INTO", "SUBSCRIBER__START", "RUNTIME", "SUBSCRIBER__MAX_RETRIES"):
        for value in (address, f"{address}\0"):
            environ = {f"CALLBOARD_{name}": value}
            yield refusal(lambda environ=environ: load(None, environ, cwd=folder), fine=True)


def refusal(call: Callable[[], Any], *, fine: bool = False) -> str:
    """The error with its traceback; or the result, if there is no error."""
    try:
        made = call()
    except (CallboardError, TypeError) as error:
        return told(error)
    assert fine, made
    return f"{made!r} {made}" if type(made).__module__.startswith("callboard") else ""


@each_kind
def test_no_kind_of_address_reveals_its_password(address: str, tmp_path: Path) -> None:
    assert [text for text in said_of(address) if betrayed(text)] == []
    assert [text for text in said_of_settings(address, tmp_path) if betrayed(text)] == []


@settings(max_examples=150, deadline=None, derandomize=True)
@given(address=addresses())
def test_no_address_reveals_its_password(address: str) -> None:
    assert [text for text in said_of(address) if betrayed(text)] == []
    assert shown(shown(address)) == shown(address)


@settings(max_examples=20, deadline=None, derandomize=True)
@given(address=addresses())
def test_no_configuration_reveals_a_password(address: str, tmp_path_factory: pytest.TempPathFactory) -> None:
    folder = tmp_path_factory.mktemp("board")
    assert [text for text in said_of_settings(address, folder) if betrayed(text)] == []


@pytest.mark.parametrize(
    "address",
    ["/srv/site", "./site", "../a=b,c=d/site@2", "site", "year=2026/site", "folder:/x", "folder:./x", "sqlite:out.db",
     "sqlite:///./board.db", "sqlite:////srv/board.db", "memory:", "s3://bucket/a/b", "kafka://a:1,[::1]:2",
     "postgresql://db:5432/x", "postgresql:///x", "http://127.0.0.1:9000"],
)  # fmt: skip
def test_an_address_without_a_password_is_shown_as_it_is(address: str) -> None:
    assert is_shown_in_full(address)


@pytest.mark.parametrize(
    ("address", "seen"),
    [
        ("postgresql://ann:pw@a:1,[::1]:2/x?schema=s#f", "postgresql://a:1,[::1]:2/x"),
        ("postgresql://ann:pw@db", "postgresql://db"),
        ("postgre://ann:pw@db/x", "postgre://db/x"),
        ("host=db dbname=x user=ann password='p w'", "host=db dbname=x"),
        ("password=pw", "…"),
        ("postgresql:/ann:pw@db/x", "postgresql:…"),
        ("sqlite:///./x?key=pw", "sqlite:///./…"),
        ("/srv/postgresql:/ann:pw@db", "/srv/…"),
    ],
)
def test_an_address_is_shown_with_scheme_hosts_port_and_path(address: str, seen: str) -> None:
    assert shown(address) == seen


@settings(max_examples=60, deadline=None, derandomize=True)
@given(
    key=st.sampled_from(["password", "sslmode", "port", "passfile", "ssl_min_protocol_version", "gsslib",
                         "target_session_attrs", "sslcert", "sslrootcert", "connect_timeout", "unknown", "krbsrvname"]),
    value=spellings(), password=spellings(),
)  # fmt: skip
@example(key="sslmode", value=SECRET, password=SECRET)
def test_no_error_of_the_postgresql_driver_reveals_a_password(key: str, value: str, password: str) -> None:
    async def connect() -> None:
        server = Server.of(f"postgresql://ann:{password}@127.0.0.1:1,127.0.0.1:2/x?{key}={value}")
        assert not betrayed(repr(server))
        with explained(server):
            connection = await server.connect()
            connection.terminate()

    with pytest.raises(CallboardError) as caught:
        asyncio.run(connect())
    assert not betrayed(told(caught.value))


def test_no_part_of_a_password_is_resolved_as_a_host_name() -> None:
    with pytest.raises(ConfigError, match="%40 for @"):
        Server.of(f"postgresql://ann:pass@{SECRET}@db/x")


def test_a_url_in_an_error_of_a_driver_is_not_shown() -> None:
    url = f"postgresql://ann:x{SECRET}@db:5432/site"
    said = f"Port could not be cast to integer value as 'x{SECRET}@db', in {url} or POSTGRESQL://ANN:{SECRET.upper()}"
    heard = masked(said, url)
    assert not betrayed(heard)
    assert heard.startswith("Port could not be cast to integer value as '…', in postgresql://db:5432/site")


def test_a_traceback_in_json_contains_no_values_of_variables() -> None:
    def fail(_url: str) -> None:
        raise ConfigError("it failed")

    written, configured = io.StringIO(), structlog.get_config()
    with redirect_stderr(written):
        configure_logging("debug", "json")
        try:
            fail(f"postgresql://ann:{SECRET}@db/x")
        except ConfigError:
            structlog.get_logger().error("it.failed", exc_info=True)
        finally:
            structlog.configure(**configured)
    assert "it failed" in written.getvalue()
    assert not betrayed(written.getvalue())


@pytest.mark.parametrize(("log", "mode"), [(f"postgresql://a:{SECRET}@db/x", 0o600), ("sqlite:///./b.db", 0o644)])
def test_only_its_user_may_read_a_configuration_with_a_password(
    log: str, mode: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("callboard.cli.init._create_log", _made)
    before = os.umask(0)
    try:
        init(BoardOptions(None, log))
    finally:
        os.umask(before)
    assert (tmp_path / "callboard.toml").stat().st_mode & 0o777 == mode


async def _made(_: object) -> None:
    pass


def test_the_name_of_a_source_contains_no_password_of_its_url() -> None:
    asked = {"source": "site", "source_name": f"https://ann:{SECRET}@git/site"}
    with pytest.raises(RequestRefused, match="a URL without user, password and options") as refused:
        requests.request(asked, {})
    assert not betrayed(told(refused.value))


def test_no_digest_of_a_password_is_shown() -> None:
    urls = [
        f"postgresql://ann{password}@db/x?repository=edge{option}"
        for password in ("", f":{SECRET}", ":other") for option in ("", f"&sslpassword={SECRET}", "&p%61ssword=x")
    ]  # fmt: skip
    assert len({repository_place(url, BASE, "host") for url in urls}) == 1
    assert len({subscriber_spool("edge", url, BASE) for url in urls}) == 1


def test_a_url_in_an_error_of_a_third_party_backend_is_not_shown(monkeypatch: pytest.MonkeyPatch) -> None:
    def open_theirs(url: str, _: Path) -> object:
        if url.startswith("theirs"):
            return urlsplit(url).port  # raises with a part of the URL
        raise ConfigError(f"no server for {url}") from ValueError(url)

    entry = EntryPoint("theirs", "theirs:open", "callboard.logs")
    monkeypatch.setattr(EntryPoint, "load", lambda _: open_theirs)
    for url in (f"theirs://ann:{SECRET}", f"his://ann:{SECRET}@db/x"):
        said = refusal(lambda url=url: open_offered(entry, url, BASE))
        assert not betrayed(said)
    assert "no server for his://db/x" in said


def test_no_command_creates_a_folder_named_like_an_address(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    address = f"postgresql://ann:{SECRET}@db/x"
    audit = [["pipeline", "audit", "--out"]] if PIPELINE else []
    for words in (*audit, ["snapshot", "edge", "--to"], ["init", "--config"]):
        monkeypatch.setattr(sys, "argv", ["callboard", *words, address])
        assert run() == exit_codes.USAGE
    assert not betrayed(capsys.readouterr())
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("setting", "words"),
    [("CALLBOARD_PREFIX", ["status"]), ("CALLBOARD_PREFIX", ["doctor", "--json"]), ("CALLBOARD_PREFIX", ["init"]),
     ("CALLBOARD_PUBLISHER__NAME", ["doctor", "--json"])],
)  # fmt: skip
def test_an_address_in_the_wrong_setting_is_not_shown(
    setting: str, words: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("CALLBOARD_LOG", "sqlite:///./board.db")
    monkeypatch.setenv(setting, f"postgresql://ann:{SECRET}@db/x")
    monkeypatch.setattr(sys, "argv", ["callboard", *words])
    run()
    assert not betrayed(capsys.readouterr())


def test_the_traceback_of_a_bug_does_not_contain_the_configured_password(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def fail(options: BoardOptions) -> None:
        raise ZeroDivisionError(f"something at ann:{SECRET} {options.load().config.log}")

    monkeypatch.chdir(tmp_path)
    (tmp_path / "callboard.toml").write_text(f'log = "postgresql://ann:{SECRET}@db/x"')
    monkeypatch.setattr("callboard.cli.run_command.app", lambda **_: fail(BoardOptions()))
    assert run() == exit_codes.BUG
    output = capsys.readouterr().err
    assert "ZeroDivisionError: something at" in output
    assert not betrayed(output)
