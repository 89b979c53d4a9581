"""Where callboard logs to: structlog as the service has configured it, else the standard library's logging."""

import logging
import sys
from collections.abc import Callable
from typing import Any, ClassVar

NAME = "callboard"
"""The standard library's logger for a service that does not use structlog."""


LEVELS = {"debug": logging.DEBUG, "info": logging.INFO, "warning": logging.WARNING}


class Logger:
    """A logger with a context, which is made when something is logged: structlog is slow to import, and most
    commands log nothing.
    """

    configure: ClassVar[Callable[[], None] | None] = None
    """Called once before the first line, if a program sets structlog up as late as that."""
    least: ClassVar[int] = logging.NOTSET
    """The level of the least important lines that it will show then."""

    def __init__(self, context: dict[str, Any]) -> None:
        self._context = context

    def bind(self, **context: Any) -> "Logger":
        """A logger with more context."""
        return Logger(self._context | context)

    def __getattr__(self, name: str) -> Any:
        if (level := LEVELS.get(name)) is not None and not _may_show(level):
            return _ignore
        return getattr(_made(self._context), name)


def get_logger(**context: Any) -> Any:
    """A logger bound to the context.

    A library must not print where it was not asked to: without a structlog configuration the lines go to
    ``logging.getLogger("callboard")``, so that nothing below a warning is shown until the service says otherwise.
    """
    return Logger(context)


def _may_show(level: int) -> bool:
    """False if the line would not be seen. Structlog is not asked unless it is imported."""
    if Logger.configure is not None:
        return level >= Logger.least
    return "structlog" in sys.modules or logging.getLogger(NAME).isEnabledFor(level)


def _ignore(*_args: Any, **_context: Any) -> None:
    pass


def _made(context: dict[str, Any]) -> Any:
    import structlog

    if Logger.configure is not None:
        configure, Logger.configure = Logger.configure, None
        configure()
    if structlog.is_configured():
        return structlog.get_logger(**context)
    processors: list[structlog.typing.Processor] = [
        structlog.stdlib.filter_by_level,
        structlog.processors.KeyValueRenderer(key_order=["event"]),
    ]
    logger = structlog.wrap_logger(
        logging.getLogger(NAME), processors=processors, wrapper_class=structlog.stdlib.BoundLogger
    )
    return logger.bind(**context)
