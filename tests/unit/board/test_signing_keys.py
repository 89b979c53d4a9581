"""Keys: named in the configuration, kept in files that only their user can read, and never shown."""

import os
import pickle

import pytest

from callboard import Callboard
from callboard.board.connect.settings import BoardSettings
from callboard.board.connect.signing_keys import read_key
from callboard.config import load
from callboard.errors import ConfigError
from callboard.messages.signing import SigningKey

SECRET = "0123456789abcdef"
KEY = SigningKey("ops", SECRET.encode())


def write(file, text=f"{SECRET}\n", mode=0o600):
    file.write_text(text)
    file.chmod(mode)
    return f"ops={file}"


def test_a_key_is_read_from_its_file_without_surrounding_white_space(tmp_path):
    key = read_key(write(tmp_path / "ops.key"))
    assert (key.id, key.secret) == ("ops", SECRET.encode())
    settings = BoardSettings("memory:", signing_key=key, trusted_keys=(key,))
    assert SECRET not in repr(key) + repr(settings)
    assert pickle.loads(pickle.dumps(settings)) == settings  # it goes to actors in processes of their own


@pytest.mark.parametrize("setting", ["ops", "ops=", "=./ops.key", "", 5])
def test_a_malformed_key_setting_is_refused_without_repeating_it(setting):
    with pytest.raises(ConfigError, match="NAME=FILE"):
        read_key(setting)


def test_a_secret_in_place_of_a_file_is_not_shown_in_the_error(tmp_path):
    with pytest.raises(ConfigError, match="the file of key 'ops' cannot be read") as refused:
        read_key(f"ops={SECRET}")
    assert SECRET not in str(refused.value)


@pytest.mark.parametrize("mode", [0o604, 0o602, 0o640, 0o660, 0o644])
def test_a_key_that_others_can_read_or_write_is_refused(tmp_path, mode):
    with pytest.raises(ConfigError, match="chmod 600") as refused:
        read_key(write(tmp_path / "ops.key", mode=mode))
    assert SECRET not in str(refused.value)


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give a file away")
def test_a_group_may_read_a_key_of_another_user_as_in_containers(tmp_path):
    setting = write(tmp_path / "ops.key", mode=0o440)
    os.chown(tmp_path / "ops.key", 12345, -1)
    assert read_key(setting).id == "ops"
    (tmp_path / "ops.key").chmod(0o444)
    with pytest.raises(ConfigError, match="chmod 600"):
        read_key(setting)


def test_a_short_secret_a_huge_file_and_a_bad_name_are_refused(tmp_path):
    with pytest.raises(ConfigError, match="at least 16"):
        read_key(write(tmp_path / "short.key", "short"))
    with pytest.raises(ConfigError, match="more than 4096 bytes"):
        read_key(write(tmp_path / "long.key", "x" * 5000))
    for name in ("a b", "", "ä", "x" * 65, "-a", 7):
        with pytest.raises(ConfigError, match="needs a name"):
            SigningKey(name, SECRET.encode())


def test_a_secret_that_is_not_bytes_is_refused_at_once_and_not_shown():
    with pytest.raises(ConfigError, match="is a str, but should be bytes") as refused:
        SigningKey("ops", SECRET)
    assert SECRET not in str(refused.value)


def test_paths_of_key_files_are_relative_to_the_file_that_names_them(tmp_path):
    (tmp_path / "config").mkdir()
    (tmp_path / "config" / "callboard.toml").write_text(
        'signing_key = "ops=./ops.key"\ntrusted_keys = ["ops=./ops.key", "night=/run/night"]\n'
    )
    config = load(tmp_path / "config" / "callboard.toml", {}, cwd=tmp_path).config
    assert config.signing_key == f"ops={tmp_path}/config/ops.key"
    assert config.trusted_keys == (f"ops={tmp_path}/config/ops.key", "night=/run/night")
    said = {"CALLBOARD_TRUSTED_KEYS": "a=x, b=y", "CALLBOARD_SIGNING_KEY": "a=x"}
    config = load(None, said, cwd=tmp_path).config
    assert config.trusted_keys == (f"a={tmp_path}/x", f"b={tmp_path}/y")
    assert config.signing_key == f"a={tmp_path}/x"


@pytest.mark.parametrize(
    ("text", "environ", "meant"),
    [
        ('command_key = "ops=./ops.key"', {}, "signing_key"),
        ('[subscriber]\ncommand_keys = ["ops=./ops.key"]', {}, "trusted_keys"),
        ('[subscribers.edge-1]\ncommand_keys = ["ops=./ops.key"]', {}, "trusted_keys"),
        ("", {"CALLBOARD_COMMAND_KEY": "ops=./ops.key"}, "signing_key"),
        ("", {"CALLBOARD_SUBSCRIBER__COMMAND_KEYS": "ops=./ops.key"}, "trusted_keys"),
    ],
)
def test_the_settings_of_older_versions_are_refused_with_the_name_of_the_new_one(tmp_path, text, environ, meant):
    (tmp_path / "callboard.toml").write_text(text)
    with pytest.raises(ConfigError, match=f"was removed; set {meant}"):
        load(None, environ, cwd=tmp_path)


@pytest.mark.parametrize(
    ("keys", "problem"),
    [
        ({"trusted_keys": (KEY,)}, "without a signing_key"),
        ({"signing_key": KEY, "trusted_keys": (SigningKey("night", b"x" * 16),)}, "is not among the trusted_keys"),
        ({"signing_key": KEY, "trusted_keys": (SigningKey("ops", b"x" * 16),)}, "is not among the trusted_keys"),
        ({"signing_key": KEY, "trusted_keys": (KEY, SigningKey("ops", b"x" * 16))}, "have the same name"),
    ],
)
def test_keys_with_which_a_board_would_ignore_its_own_records_are_refused(keys, problem):
    with pytest.raises(ConfigError, match=problem):
        Callboard("memory:", **keys)
