"""The archive of a log: Parquet segments in a folder or a bucket, which outlive the log's retention.

``docs/archive.md`` has the format. Nothing here needs more than pyarrow, and for a bucket aiobotocore.
"""

from callboard.errors import ExtraMissing

try:
    import pyarrow as pa
except ModuleNotFoundError as missing:
    raise ExtraMissing("an archive needs pyarrow; run: pip install 'callboard[archive]'") from missing

__all__ = ["pa"]
