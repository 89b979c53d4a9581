"""``callboard init``: creates an initial configuration, and the log."""

import asyncio
import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from pydantic import BaseModel

from callboard.backends.address import is_shown_in_full
from callboard.backends.registry import open_log
from callboard.cli.board import open_board, place
from callboard.cli.options import BoardOptions
from callboard.cli.terminal.output import show
from callboard.config import FILE, Config, Loaded
from callboard.config.sources import is_there
from callboard.errors import ConfigError, TopicMissing
from callboard.messages.topics import Topics

HEAD = """\
# The configuration of callboard. Commented lines show the default, or an example if there is none.
# Variables (CALLBOARD_LOG, CALLBOARD_SUBSCRIBER__MAX_RETRIES, ...) override this file, and flags override both.
# Relative paths start from the folder of this file.
"""
TAIL = """
# The same keys for one subscriber alone:
# [subscribers.edge-1]
# into = "./out"

# A relay to the log of a site, for `callboard run relay`:
# [relays.berlin]
# to = "sqlite:///./berlin.db"

# Where the folders of a publisher go at subscribers; `callboard publish DIR --at /PREFIX` adds a line.
# [publishers.main.sources]
# "./site" = "/site"
"""


def init(options: BoardOptions) -> None:
    """Write callboard.toml with every setting explained, unless it exists, and create the log."""
    path = options.config or Path(FILE)
    if is_there(path):
        loaded = options.load()
        if asyncio.run(_has_log(loaded)):
            raise ConfigError(f"{path} and the log already exist; edit the file, or remove it first")
        asyncio.run(_create_log(loaded))
        show(f"created the log {place(loaded.config.log)}, and left {path} as it is")
    else:
        # Only flags given are written as settings; they must be valid, so they are loaded first.
        loaded = BoardOptions(None, options.log, options.blobs).load()
        asyncio.run(_create_log(loaded))
        chosen = {key: value for key, value in (("log", options.log), ("blobs", options.blobs)) if value}
        _write(path, template(chosen), secret=not all(map(is_shown_in_full, chosen.values())))
        show(f"wrote {path}, and created the log {place(loaded.config.log)}")
    show("next:  callboard publish ./site                        # ship a folder")
    show("       callboard run subscriber edge-1 --into ./out    # import it, and later packages")
    show("       callboard status                                # who has what")


def _write(path: Path, text: str, *, secret: bool) -> None:
    """Write a file that only its user may change; if it may have a password in it, only its user may read it, too."""
    try:
        descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600 if secret else 0o644)
        with open(descriptor, "w", encoding="utf-8") as file:  # noqa: PTH123 - of a descriptor
            file.write(text)
    except OSError as error:
        raise ConfigError(f"{path} cannot be written: {error.strerror}; choose another folder") from error


async def _has_log(loaded: Loaded) -> bool:
    log = open_log(loaded.config.log, loaded.base)
    try:
        await log.bounds(Topics.with_prefix(loaded.config.prefix).package)
    except (TopicMissing, ConfigError):  # a missing schema is one; creation reports any other problem
        return False
    finally:
        await log.close()
    return True


async def _create_log(loaded: Loaded) -> None:
    async with open_board(loaded, create=True):
        pass


def template(chosen: dict[str, str]) -> str:
    """The file: all settings with their meaning and default; the chosen ones are set."""
    lines = "\n".join(_lines("", Config, chosen))
    return f"{HEAD}\n{lines}\n{TAIL}"


def _lines(section: str, model: type[BaseModel], chosen: dict[str, str]) -> Iterator[str]:
    if section:
        yield f"\n# {(model.__doc__ or '').partition(' ``')[0]}\n[{section}]"
    for name, field in model.model_fields.items():
        if isinstance(field.default, BaseModel):
            yield from _lines(name, type(field.default), {})
        elif name not in ("subscribers", "publishers", "relays"):
            default = field.default if field.default is not None else (field.examples or [0])[0]
            mark = "" if name in chosen else "# "
            yield f"# {field.description}\n{mark}{name} = {json.dumps(_plain(chosen.get(name, default)))}"


def _plain(value: Any) -> Any:
    return list(value) if isinstance(value, tuple) else value
