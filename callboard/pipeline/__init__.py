"""Spark on the log: a data source over every backend, and jobs whose size asks for more than one process.

Nothing else of callboard imports this. ``docs/pipeline.md`` says from what size on it pays.
"""

from callboard.errors import ExtraMissing

# Run with pyspark 4.3.0, pandas 2.3.3, pyarrow 26.0.1, adbc-driver-postgresql 1.13.0, ptars 0.0.25 and Java 17. Spark's
# documentation has what is used here from 4.2 on; that version was not run.
try:
    import pyarrow as pa  # noqa: F401 - only whether it is there
    import pyspark  # noqa: F401 - likewise
except ModuleNotFoundError as missing:
    raise ExtraMissing(
        f"the pipeline needs {missing.name}, and Java 17 or newer; run: pip install 'callboard[spark]'"
    ) from missing
