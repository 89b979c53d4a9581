"""The archive of a log: Parquet segments in a folder or a bucket, which outlive the log's retention.

``docs/archive.md`` describes the format. It needs only pyarrow, plus aiobotocore for a bucket.
"""
