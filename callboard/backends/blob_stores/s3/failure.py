"""Turns errors of S3, botocore and the network into ``BlobUnavailable``, with advice.

Never into ``ConfigError``, even where a setting is wrong: a subscriber waits for an unavailable blob store, but gives
up on a package that fails in another way, and a wrong setting is no fault of the package.
"""

from collections.abc import Iterator
from contextlib import contextmanager

import aiohttp
from botocore import exceptions

from callboard.backends.blob_stores.s3.bucket import Bucket
from callboard.backends.echo import harmless, masked
from callboard.errors import BlobUnavailable

_KEYS = "check AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or AWS_PROFILE"
_PERMISSION = (
    "allow s3:GetObject, s3:PutObject, s3:DeleteObject and s3:AbortMultipartUpload on the objects, "
    "and s3:ListBucket on the bucket"
)
_REGION = "correct region in the URL of the blob store, or AWS_REGION"
_ENDPOINT = "check endpoint_url in the URL of the blob store, or AWS_ENDPOINT_URL_S3, and that the server runs"

_CODES = {
    "NoSuchBucket": "create the bucket, or correct its name in the URL of the blob store",
    "InvalidBucketName": "correct the bucket's name in the URL of the blob store",
    "InvalidAccessKeyId": _KEYS,
    "SignatureDoesNotMatch": _KEYS,
    "InvalidToken": "check AWS_SESSION_TOKEN",
    "ExpiredToken": "renew the credentials: AWS_SESSION_TOKEN has expired",
    "RequestTimeTooSkewed": "set the clock of this host",
    "AccessDenied": _PERMISSION,
    "AllAccessDisabled": _PERMISSION,
    "403": _PERMISSION,
    "AuthorizationHeaderMalformed": _REGION,
    "PermanentRedirect": _REGION,
    "IllegalLocationConstraintException": _REGION,
    "301": _REGION,
    "SlowDown": "the server asks for fewer requests: wait",
    "ConditionalRequestConflict": "another process deleted it just now",
}

BROKEN_STREAM: tuple[type[Exception], ...] = (
    exceptions.HTTPClientError, exceptions.IncompleteReadError, aiohttp.ClientError, TimeoutError, ConnectionError,
)  # fmt: skip
"""The errors for a connection that ends before its content."""

_CAUSES: tuple[tuple[type[Exception], str], ...] = (
    (exceptions.NoCredentialsError, "set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or AWS_PROFILE"),
    (exceptions.PartialCredentialsError, _KEYS),
    (exceptions.CredentialRetrievalError, "check AWS_PROFILE and what it takes its credentials from"),
    (exceptions.ProfileNotFound, "correct AWS_PROFILE, or add that profile to the AWS configuration"),
    (exceptions.SSLError, "check endpoint_url in the URL of the blob store, and AWS_CA_BUNDLE"),
    (exceptions.InvalidRegionError, _REGION),
    (exceptions.ReadTimeoutError, "the server does not answer: check it and the network"),
    (exceptions.ConnectionError, _ENDPOINT),
    *((kind, _ENDPOINT) for kind in BROKEN_STREAM),
)


class Declined(Exception):
    """The server declined with an error code that the caller expects."""

    def __init__(self, code: str) -> None:
        super().__init__(code)
        self.code = code


@contextmanager
def explained(bucket: Bucket, *expected: str) -> Iterator[None]:
    """Raise ``Declined`` for the expected codes, and ``BlobUnavailable`` for any other error of a request."""
    try:
        yield
    except exceptions.ClientError as error:
        code = error.response["Error"].get("Code", "")
        if code in expected:
            raise Declined(code) from error
        advice = _CODES.get(code, "see what the server's log says")
        raise BlobUnavailable(f"{bucket}: {masked(error)}; {advice}, then try again") from harmless(error)
    except (exceptions.BotoCoreError, aiohttp.ClientError, OSError, TimeoutError) as error:
        advice = next((text for kind, text in _CAUSES if isinstance(error, kind)), "check the AWS configuration")
        raise BlobUnavailable(f"{bucket}: {masked(error) or type(error).__name__}; {advice}, then try again") from (
            harmless(error)
        )
