"""Errors of ours that come back out of Spark, which turns what a worker raises into text."""

import re
from collections.abc import Iterator
from contextlib import contextmanager

from pyspark.errors import PySparkException

from callboard import errors

_RAISED = re.compile(r"^callboard\.errors\.(\w+): (.+)$", re.MULTILINE)


@contextmanager
def explained() -> Iterator[None]:
    """Raise the error that a worker raised, instead of Spark's report of it."""
    try:
        yield
    except Exception as error:
        found = cause(error)
        if found is None:
            raise
        raise found from error


def cause(error: Exception) -> errors.CallboardError | None:
    """The error of ours that is in one of Spark's; None if there is none."""
    if isinstance(error, errors.CallboardError):
        return None
    of_spark = isinstance(error, PySparkException) or type(error).__module__.startswith("py4j")
    lines = _RAISED.findall(str(error)) if of_spark else []
    kinds = [(getattr(errors, name, None), text) for name, text in lines]
    for kind, text in reversed(kinds):
        if isinstance(kind, type) and issubclass(kind, errors.CallboardError):
            return kind.__new__(kind, text)  # as some are made of more than a text
    return None
