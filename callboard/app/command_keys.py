"""The keys of commands, read from the files that the configuration names: no secret is ever in a configuration."""

from pathlib import Path

from callboard.errors import ConfigError
from callboard.messages.signing import CommandKey


def read_command_key(setting: str) -> CommandKey:
    """The key that ``NAME=FILE`` stands for; white space around the secret in the file does not count.

    Raises ``ConfigError`` if it is not written so, or if the file cannot be read or holds too short a secret.
    """
    name, _, file = setting.partition("=")
    if not name or not file:
        raise ConfigError("a command key is written as NAME=FILE, the secret being in the file, never in the setting")
    try:
        secret = Path(file).read_bytes().strip()
    except OSError as error:
        raise ConfigError(
            f"the file of command key {name!r} cannot be read ({error.strerror}); correct the path, or who may read it"
        ) from error
    return CommandKey(name, secret)
