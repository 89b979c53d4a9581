"""Repositories and blob stores by name, as a configuration gives them."""

import sys
from pathlib import Path

import pytest

from callboard.backends.blob_stores import open_blob_store
from callboard.backends.blob_stores.folder import FolderBlobStore
from callboard.backends.registry import open_log
from callboard.backends.repositories import open_repository
from callboard.backends.repositories.folder import FolderRepository
from callboard.backends.repositories.sqlite import SqliteRepository
from callboard.board.care.seeding import ledger_of
from callboard.board.connect.opening import open_board_blobs
from callboard.board.connect.settings import BoardSettings
from callboard.cli.board import place
from callboard.errors import ConfigError, ExtraMissing, RequestRefused


@pytest.mark.parametrize(
    ("where", "kind"),
    [
        ("out", FolderRepository),
        ("./out", FolderRepository),
        ("/srv/out", FolderRepository),
        ("folder:out.db", FolderRepository),
        ("./a:b", FolderRepository),
        ("out.db", SqliteRepository),
        ("./a:b/out.sqlite", SqliteRepository),
        ("sqlite:out", SqliteRepository),
    ],
)
def test_a_repository_is_chosen_by_its_kind_or_its_suffix(where: str, kind: type, tmp_path: Path) -> None:
    assert type(open_repository(where, tmp_path)) is kind
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("where", ["s3:bucket", "postgres:db", "", "folder:", "sqlite:"])
def test_the_error_for_an_unknown_kind_of_repository_lists_the_valid_forms(where: str) -> None:
    with pytest.raises(ConfigError, match=r"folder:PATH, sqlite:PATH, postgresql:.* or a path alone"):
        open_repository(where, Path())


def test_the_url_of_a_log_is_no_repository() -> None:
    with pytest.raises(ConfigError, match=r"is how a log is written; a repository is 'sqlite:\./x\.db'"):
        open_repository("sqlite:///./x.db", Path())


@pytest.mark.parametrize("url", ["blobs", "./blobs", "/srv/blobs", "folder:blobs", "./a:b"])
def test_a_blob_store_is_a_folder(url: str, tmp_path: Path) -> None:
    assert type(open_blob_store(url, tmp_path)) is FolderBlobStore
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("url", ["gs://bucket", "", "folder:"])
def test_the_error_for_an_unknown_blob_store_lists_the_valid_forms(url: str) -> None:
    with pytest.raises(ConfigError, match="folder:PATH"):
        open_blob_store(url, Path())


def test_s3_without_its_extra_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in [name for name in sys.modules if name.startswith("callboard.backends.blob_stores.s3")]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "aiobotocore", None)
    with pytest.raises(ExtraMissing, match=r"pip install 'callboard\[s3\]'"):
        open_blob_store("s3://bucket/prefix", Path())


@pytest.mark.parametrize("log", ["postgresql://us:hidden@db/x", "nosuch://us:hidden@db/x"])
def test_the_error_for_an_unusable_log_contains_no_password(log: str, tmp_path: Path) -> None:
    settings = BoardSettings(log=log, base=tmp_path)
    for attempt in (lambda: open_board_blobs(settings), lambda: open_log(f"nosuch{log}", tmp_path)):
        with pytest.raises(ConfigError) as caught:
            attempt()
        assert "hidden" not in str(caught.value)


@pytest.mark.parametrize(
    ("url", "shown"),
    [
        ("postgresql://us:hidden@db/x?sslmode=require", "postgresql://db/x"),
        ("postgresql://us:hid@den@db/x", "postgresql://db/x"),
        ("postgresql://us:hid/den@db/x", "postgresql:…"),
        ("kafka://one/?sasl_password=hidden&client_id=a", "kafka://one/"),
        ("kafka://one/?sasl_username=annsasl_passwordhidden", "kafka://one/"),
        ("kafka://one/?sasl_password_env=PW", "kafka://one/"),
        ("sqlite:///./password.db", "./password.db"),
    ],
)
def test_an_address_is_shown_without_its_password(url: str, shown: str) -> None:
    assert place(url) == shown


@pytest.mark.parametrize("url", ["postgresql://us:hid/den@db/x", "postgresql://us:hid@den@db/"])
def test_a_url_whose_password_was_not_encoded_is_refused_without_showing_it(url: str, tmp_path: Path) -> None:
    pytest.importorskip("asyncpg")
    with pytest.raises(ConfigError, match=r"cannot be read as|names no database") as caught:
        open_log(url, tmp_path)
    assert "hid" not in str(caught.value)
    assert "den" not in str(caught.value)


def test_the_error_for_an_unusable_blob_store_or_origin_contains_no_password() -> None:
    with pytest.raises(ConfigError, match="unknown kind of blob store") as caught:
        open_blob_store("nosuch://key:hidden@bucket", Path())
    with pytest.raises(RequestRefused, match="no subscriber ever imported into") as refused:
        ledger_of("postgresql://us:hidden@db/x?repository=edge-1", b"")
    assert "hidden" not in f"{caught.value}{refused.value}"
