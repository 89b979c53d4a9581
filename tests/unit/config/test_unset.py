"""The configuration where nothing is set is the same with and without pydantic."""

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

from callboard.config import Value, load
from callboard.config.model import Config
from callboard.config.unset import SECTIONS, TOP, Unset
from callboard.errors import ConfigError


def values(table: Mapping[str, Any], model: Any, *above: str) -> Iterator[tuple[str, Any, Any]]:
    for name, value in table.items():
        meant = getattr(model, name)
        if isinstance(value, Mapping) and above == () and name in SECTIONS:
            yield from values(value, meant, name)
        else:
            shown = value() if callable(value) else value
            yield ".".join((*above, name)), shown, meant() if callable(meant) else meant


def test_every_unset_value_is_the_default_of_the_model(tmp_path):
    found = list(values({**TOP, **SECTIONS}, Config()))
    assert len(found) > 20
    assert [(name, value) for name, value, _ in found] == [(name, meant) for name, _, meant in found]
    config = load(None, {}, cwd=tmp_path).config
    assert isinstance(config, Unset)
    assert config == Config(log=f"sqlite:///{tmp_path}/board.db")
    assert config.subscriber.max_retries == Config().subscriber.max_retries  # what is not in the table


@pytest.mark.parametrize("text", ["", "[publisher]\n[retention]\n", "log = 'sqlite:///./x.db'\n[subscriber]\n"])
def test_a_file_with_only_addresses_and_headings_sets_nothing(tmp_path, text):
    (tmp_path / "callboard.toml").write_text(text)
    assert isinstance(load(None, {"HOME": "/root"}, [Value(("blobs",), "b", "--blobs")], cwd=tmp_path).config, Unset)


@pytest.mark.parametrize(("text", "problem"), [("log = 3", "valid string"), ("[publishr]", "did you mean publisher")])
def test_errors_are_found_even_if_nothing_is_set(tmp_path: Path, text, problem):
    (tmp_path / "callboard.toml").write_text(text)
    with pytest.raises(ConfigError, match=problem):
        load(None, {}, cwd=tmp_path)


def test_every_set_value_is_checked(tmp_path):
    (tmp_path / "callboard.toml").write_text("prefix = 'p'\n")
    assert isinstance(load(None, {}, cwd=tmp_path).config, Config)
    assert load(None, {"CALLBOARD_PREFIX": "q"}, cwd=tmp_path).config.prefix == "q"
