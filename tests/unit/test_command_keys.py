"""Keys of commands: named in the configuration, kept in files, and never shown."""

import pickle

import pytest

from callboard.app.command_keys import read_command_key
from callboard.config import load
from callboard.errors import ConfigError
from callboard.testing.subscriber_example import settings

SECRET = "0123456789abcdef"


def test_a_key_is_read_from_its_file_without_the_white_space_around_it(tmp_path):
    (tmp_path / "ops.key").write_text(f"{SECRET}\n")
    key = read_command_key(f"ops={tmp_path / 'ops.key'}")
    assert (key.id, key.secret) == ("ops", SECRET.encode())
    assert SECRET not in repr(key)
    held = settings(command_keys=(key,))
    assert pickle.loads(pickle.dumps(held)) == held  # it goes to actors in processes of their own


@pytest.mark.parametrize("setting", ["ops", "ops=", "=./ops.key", ""])
def test_a_key_that_is_not_a_name_and_a_file_is_refused_without_being_repeated(setting):
    with pytest.raises(ConfigError, match="NAME=FILE"):
        read_command_key(setting)


def test_a_secret_in_place_of_a_file_is_not_shown_in_the_error(tmp_path):
    with pytest.raises(ConfigError, match="the file of command key 'ops' cannot be read") as refused:
        read_command_key(f"ops={SECRET}")
    assert SECRET not in str(refused.value)


def test_the_files_of_keys_are_found_from_where_they_were_named(tmp_path):
    (tmp_path / "config").mkdir()
    (tmp_path / "config" / "callboard.toml").write_text(
        'command_key = "ops=./ops.key"\n[subscriber]\ncommand_keys = ["ops=./ops.key", "night=/run/night"]\n'
    )
    config = load(tmp_path / "config" / "callboard.toml", {}, cwd=tmp_path).config
    assert config.command_key == f"ops={tmp_path}/config/ops.key"
    assert config.subscriber.command_keys == (f"ops={tmp_path}/config/ops.key", "night=/run/night")
    said = {"CALLBOARD_SUBSCRIBER__COMMAND_KEYS": "a=x, b=y", "CALLBOARD_COMMAND_KEY": "a=x"}
    config = load(None, said, cwd=tmp_path).config
    assert config.subscriber.command_keys == (f"a={tmp_path}/x", f"b={tmp_path}/y")
    assert config.command_key == f"a={tmp_path}/x"
