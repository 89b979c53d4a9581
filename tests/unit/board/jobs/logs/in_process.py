"""A service that uses structlog, and has a function that runs in a process of its own."""

from typing import Any

import structlog

from callboard import JobRegistry

jobs = JobRegistry()


@jobs.job("process", process=True)
def look() -> dict[str, Any]:
    found = structlog.contextvars.get_contextvars()
    structlog.contextvars.bind_contextvars(left="behind")
    return found
