"""Opens the board that the options and the configuration describe.

Every command imports this module, even for its help, so it imports only on use what the work needs.
"""

import os
from collections.abc import AsyncIterator, Callable, Coroutine
from contextlib import asynccontextmanager
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from callboard.backends.address import shown
from callboard.cli.options import BoardOptions
from callboard.cli.terminal.log_setup import configure_logging, log_quietly
from callboard.errors import ConfigError, TopicMissing
from callboard.messages.topics import PREFIX

if TYPE_CHECKING:
    from callboard.board.board import Callboard
    from callboard.board.connect.settings import BoardSettings
    from callboard.config import Config, Loaded

R = TypeVar("R")
Work = Callable[["Callboard"], Coroutine[Any, Any, R]]


def on_board(options: BoardOptions, work: "Work[R]", *, create: bool | None = None, endless: bool = False) -> R:
    """Open the board, do the work, close the board; returns the work's result. See ``open_board`` and ``patiently``."""
    import asyncio

    from callboard.cli.terminal.patience import patiently

    loaded = options.load()
    log_quietly(loaded.config.logging.format, verbose=options.verbose)
    settings = board_settings(loaded)

    async def working() -> R:
        async with open_board(loaded, create=create) as board:
            return await work(board)

    async def patient() -> R:
        return await patiently(working(), settings, place(loaded.config.log), endless=endless)

    return asyncio.run(patient())


def board_settings(loaded: "Loaded") -> "BoardSettings":
    """The settings of the configured board."""
    from callboard.board.connect.configured import board_options
    from callboard.board.connect.settings import BoardSettings

    return BoardSettings(base=loaded.base, **board_options(loaded.config))


def configure_service_logging(options: BoardOptions, config: "Config") -> Callable[[], None]:
    """Set up logging for a long-running command; returns the function that does so in its processes."""
    configure = partial(configure_logging, "debug" if options.verbose else config.logging.level, config.logging.format)
    configure()
    return configure


@asynccontextmanager
async def open_board(
    loaded: "Loaded", *, create: bool | None = None, configure: Callable[[], None] | None = None, archive: str = ""
) -> "AsyncIterator[Callboard]":
    """The open board. With an archive, it reads from there what is no longer on the log.

    Raises ``ConfigError`` if there is no board, unless ``create`` is true. False creates only the missing topics of an
    existing board; None creates nothing.
    """
    from callboard.board.board import Callboard
    from callboard.board.connect.configured import board_options

    config = loaded.config
    board = Callboard(
        runtime=config.runtime if configure else "embedded",  # a short command needs no processes
        create=bool(create),
        configure_logging=configure,
        archive=archive,
        **board_options(config, events=configure is not None),  # written by long-running commands
    )
    try:
        await board.__aenter__()
    except TopicMissing:
        raise no_log(config, may_create=create is not None) from None
    try:
        if create is False:
            await board.ensure_topics()
        yield board
    finally:
        await board.close()


def no_log(config: "Config", *, may_create: bool = False) -> ConfigError:
    """The error for a log that does not exist."""
    how = "run `callboard init`, or add --create" if may_create else "run `callboard init`"
    prefix = f" under the prefix {config.prefix!r}" if config.prefix != PREFIX else ""
    return ConfigError(f"there is no log at {place(config.log)} yet{prefix}; {how}, or correct --log or callboard.toml")


def place(where: str) -> str:
    """A log, repository or folder for people: a path relative to here if below, a URL without secrets."""
    path = shown(where).removeprefix("sqlite:///")
    if not path.startswith("/"):
        return path
    return f"./{Path(path).relative_to(Path.cwd())}" if Path(path).is_relative_to(Path.cwd()) else os.fspath(path)
