"""The archive of a log: Parquet segments in a folder or a bucket, which outlive the log's retention.

``docs/archive.md`` describes the format. It needs only pyarrow, plus aiobotocore for a bucket.
"""

from callboard.errors import ExtraMissing

try:
    import pyarrow as pa
except ModuleNotFoundError as missing:
    raise ExtraMissing("an archive needs pyarrow; run: pip install 'callboard[archive]'") from missing

__all__ = ["pa"]
