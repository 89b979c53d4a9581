"""Signatures of commands: whoever has the key may give orders, and nobody else, whoever can write to the log.

What is signed is the command's own encoding without the signature, so its order, subscriber, log, id, author and time
all count, and so does what a newer version adds.
"""

import hashlib
import hmac
from dataclasses import dataclass, field, replace

from callboard.errors import ConfigError
from callboard.messages import codec
from callboard.messages.distribution import CommandMessage

SECRET_BYTES_MIN = 16
"""A shorter secret could be found by trying: 128 bits are out of reach."""

DOMAIN = b"callboard command 1\0"
"""What else may ever be signed with the same secret begins differently."""


@dataclass(frozen=True, slots=True)
class CommandKey:
    """A secret that the authors of commands and the subscribers share, and the name that it goes by.

    Raises ``ConfigError`` without a name, or if the secret is too short.
    """

    id: str
    secret: bytes = field(repr=False)

    def __post_init__(self) -> None:
        if not self.id:
            raise ConfigError("a command key needs a name; write it as NAME=FILE")
        if len(self.secret) < SECRET_BYTES_MIN:
            raise ConfigError(
                f"command key {self.id!r} has {len(self.secret)} bytes, and needs {SECRET_BYTES_MIN} at least; make "
                "one with: openssl rand -hex 32"
            )


def signed(command: CommandMessage, key: CommandKey) -> CommandMessage:
    """The command with the key's signature."""
    named = replace(command, key_id=key.id, signature=b"")
    return replace(named, signature=_signature(named, key))


def is_genuine(command: CommandMessage, key: CommandKey) -> bool:
    """Whether the signature was made with this key, for this command as it is."""
    return hmac.compare_digest(command.signature, _signature(replace(command, signature=b""), key))


def _signature(command: CommandMessage, key: CommandKey) -> bytes:
    return hmac.new(key.secret, DOMAIN + codec.encode(command), hashlib.sha256).digest()
