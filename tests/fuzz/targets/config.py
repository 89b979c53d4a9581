"""A configuration. The first byte is 0 for a file's text, else it says which setting a variable sets to the rest."""

import math
import tempfile
from pathlib import Path

from callboard.config import Config, load, setting_names
from callboard.errors import ConfigError

NAMES = sorted({*setting_names(), "subscribers.x.into", "subscribers.x.start"} - {"subscribers"})

TEXT = """
log = "sqlite:///./board.db"
signing_key = "a=b"
trusted_keys = ["a=b"]
[publisher]
exclude = ["*.pyc"]
max_package_mb = 5.5
[subscriber]
follows = ["main"]
skip_commands = [3]
start = 7
[subscribers.edge-1]
max_retries = 3
[retention]
older_than_days = 30
above_mb = 1e3
"""


def seeds() -> list[bytes]:
    values = (b"1", b"0.5", b"true", b"a,b", b"x=y", b"earliest", b"sqlite:f", b"nan", b"inf", b"1e308")
    return [b"\0" + TEXT.encode(), *(bytes([at + 1]) + value for at in range(len(NAMES)) for value in values)]


def run(data: bytes) -> None:
    environ = {}
    with tempfile.TemporaryDirectory() as folder:
        if data[:1] == b"\0":
            (Path(folder) / "callboard.toml").write_bytes(data[1:])
        elif data:
            name = NAMES[(data[0] - 1) % len(NAMES)]
            variable = "CALLBOARD_" + name.replace(".", "__").upper()
            environ[variable] = data[1:].decode(errors="surrogateescape")
        try:
            loaded = load(environ=environ, cwd=Path(folder))
            for name in loaded.config.subscribers:
                loaded.config.for_subscriber(name)
        except ConfigError as error:
            assert str(error), "it does not say what is wrong"
            return
    for value in loaded.origins():
        assert not isinstance(value.value, float) or math.isfinite(value.value), f"{value} is no quantity"
        repr(value.value).encode()  # it can be shown
        shown(value.value)
    loaded.config.retention.limits()
    assert Config.model_validate(loaded.config.model_dump()) == loaded.config


def shown(value: object) -> None:
    if isinstance(value, str):
        assert "\0" not in value, "no file, host or actor has a name with a NUL in it"
        value.encode()
