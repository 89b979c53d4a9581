"""Where callboard logs to: structlog as the service has configured it, else the standard library's logging."""

import logging
from typing import Any

import structlog

NAME = "callboard"
"""The standard library's logger for a service that does not use structlog."""


def get_logger(**context: Any) -> Any:
    """A logger bound to the context.

    A library must not print where it was not asked to: without a structlog configuration the lines go to
    ``logging.getLogger("callboard")``, so that nothing below a warning is shown until the service says otherwise.
    """
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
