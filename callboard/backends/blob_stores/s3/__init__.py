"""Blobs as the objects of an S3 bucket, on AWS or any compatible server."""

from callboard.errors import ExtraMissing

try:
    import aiobotocore as aiobotocore
except ModuleNotFoundError as missing:
    raise ExtraMissing("a blob store in S3 needs aiobotocore; run: pip install 'callboard[s3]'") from missing

from callboard.backends.blob_stores.s3.store import S3BlobStore

__all__ = ["S3BlobStore"]
