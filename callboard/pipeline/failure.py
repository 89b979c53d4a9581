"""Recovers callboard's errors from Spark, which turns the exceptions of workers into text."""

import re
from collections.abc import Iterator
from contextlib import contextmanager

from pyspark.errors import PySparkException

from callboard import errors

_RAISED = re.compile(r"^callboard\.errors\.(\w+): (.+)$", re.MULTILINE)


@contextmanager
def explained() -> Iterator[None]:
    """Raise the worker's own error instead of Spark's report of it."""
    try:
        yield
    except Exception as error:
        found = cause(error)
        if found is None:
            raise
        raise found from error


def cause(error: Exception) -> errors.CallboardError | None:
    """The callboard error inside one of Spark's; None if there is none."""
    if isinstance(error, errors.CallboardError):
        return None
    of_spark = isinstance(error, PySparkException) or type(error).__module__.startswith("py4j")
    lines = _RAISED.findall(str(error)) if of_spark else []
    kinds = [(getattr(errors, name, None), text) for name, text in lines]
    for kind, text in reversed(kinds):
        if isinstance(kind, type) and issubclass(kind, errors.CallboardError):
            return kind.__new__(kind, text)  # since some constructors take more than a text
    return None
