"""How the program logs: for people on a terminal, as JSON anywhere else, always on standard error."""

import logging
import os
import sys
from contextlib import suppress
from typing import Any, TextIO, cast

import structlog


class _StandardError:
    """What cannot be written to it, as on a full disk, is lost: a service goes on without a line of its log."""

    def write(self, text: str) -> None:
        with suppress(OSError):
            sys.stderr.write(text)

    def flush(self) -> None:
        with suppress(OSError):
            sys.stderr.flush()


def configure_logging(level: str = "info", form: str = "auto") -> None:
    """Set up structlog for this process. With its arguments bound it can be sent to other processes.

    Args:
        level: the least important lines shown: debug, info, warning or error.
        form: pretty, json, or auto, which is pretty on a terminal.
    """
    terminal = sys.stderr.isatty()
    processors: list[Any] = [
        structlog.contextvars.merge_contextvars,
        structlog.processors.add_log_level,
        structlog.processors.TimeStamper(fmt="iso", utc=True),
    ]
    if form == "pretty" or (form == "auto" and terminal):
        processors.append(structlog.dev.ConsoleRenderer(colors=terminal and not os.environ.get("NO_COLOR")))
    else:
        processors += [structlog.processors.dict_tracebacks, structlog.processors.JSONRenderer()]
    structlog.configure(
        processors=processors,
        wrapper_class=structlog.make_filtering_bound_logger(logging.getLevelNamesMapping()[level.upper()]),
        logger_factory=structlog.WriteLoggerFactory(cast("TextIO", _StandardError())),
    )
