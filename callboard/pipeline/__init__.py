"""Spark on the log: a data source over every backend, and jobs too large for one process.

No other package of callboard imports this. ``docs/pipeline.md`` says from what size on it pays.
"""

from callboard.errors import ExtraMissing

# Tested with pyspark 4.3.0, pandas 2.3.3, pyarrow 26.0.1, adbc-driver-postgresql 1.13.0, ptars 0.0.25 and Java 17. By
# Spark's documentation, 4.2 has everything used here; that version was not tested.
try:
    import pyarrow as pa  # noqa: F401 - only whether it is installed
    import pyspark  # noqa: F401 - likewise
except ModuleNotFoundError as missing:
    raise ExtraMissing(
        f"the pipeline needs {missing.name}, and Java 17 or newer; run: pip install 'callboard[spark]'"
    ) from missing
