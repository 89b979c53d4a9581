"""Logging: for people on a terminal, as JSON elsewhere, always on standard error."""

import logging
import os
import sys
from contextlib import suppress
from functools import partial
from typing import Any, TextIO, cast

from callboard.escaping import escaped
from callboard.logger import Logger
from callboard.telemetry import add_trace_ids


class _StandardError:
    """Drops log lines that cannot be written, as on a full disk, so that a service survives it."""

    def write(self, text: str) -> None:
        with suppress(OSError):
            sys.stderr.write(text)

    def flush(self) -> None:
        with suppress(OSError):
            sys.stderr.flush()


def log_quietly(form: str = "auto", *, verbose: bool = False) -> None:
    """Set up structlog for a short command, which logs only errors; deferred until the first one."""
    Logger.configure = partial(configure_logging, "debug" if verbose else "error", form)
    Logger.least = logging.DEBUG if verbose else logging.ERROR


def configure_logging(level: str = "info", form: str = "auto") -> None:
    """Set up structlog for this process. With its arguments bound, it can be sent to other processes.

    Args:
        level: the least important lines shown: debug, info, warning or error.
        form: pretty, json, or auto, which is pretty on a terminal.
    """
    import structlog  # slow, and most commands log nothing

    terminal = sys.stderr.isatty()
    processors: list[Any] = [
        structlog.contextvars.merge_contextvars,
        add_trace_ids,
        structlog.processors.add_log_level,
        structlog.processors.TimeStamper(fmt="iso", utc=True),
    ]
    if form == "pretty" or (form == "auto" and terminal):
        colours = terminal and not os.environ.get("NO_COLOR")
        processors += [structlog.processors.format_exc_info, _escape, structlog.dev.ConsoleRenderer(colors=colours)]
    else:  # the values of variables, which structlog would add, may be passwords
        plain = structlog.tracebacks.ExceptionDictTransformer(show_locals=False)
        tracebacks = structlog.processors.ExceptionRenderer(plain)
        processors += [tracebacks, structlog.processors.JSONRenderer()]
    structlog.configure(
        processors=processors,
        wrapper_class=structlog.make_filtering_bound_logger(logging.getLevelNamesMapping()[level.upper()]),
        logger_factory=structlog.WriteLoggerFactory(cast("TextIO", _StandardError())),
    )


def _escape(_logger: Any, _method: str, line: Any) -> Any:
    """The line with its texts escaped; only a traceback may have several lines."""
    return {
        name: "\n".join(f"  | {escaped(each)}" for each in value.split("\n")) if name == "exception" else _plain(value)
        for name, value in line.items()
    }


def _plain(value: Any) -> Any:
    return value if isinstance(value, int | float | bool | None) else escaped(value)
