"""Where the blobs are: a bucket, a prefix in it, and the key of each blob below that."""

import re
from dataclasses import dataclass, field
from difflib import get_close_matches
from urllib.parse import parse_qsl, unquote, urlsplit

from callboard.backends.address import is_shown_in_full, shown
from callboard.errors import ConfigError, PackageRefused

FORM = "s3://BUCKET/PREFIX?endpoint_url=URL&region=REGION"

RENEWED = ".renewed"
"""Suffix of the empty object that a repeated put writes beside its blob: its time is the time of that put.

Copying the blob onto itself would also renew its time, but moves all its bytes, and S3 refuses it above 5 GB. In key
order, a renewal comes directly after its blob.
"""

_BUCKET = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{1,254}")
_REGION = re.compile(r"[A-Za-z0-9-]{1,63}")
_DIGEST = re.compile(r"[0-9a-f]{64}")
_OPTIONS = ("endpoint_url", "region")


@dataclass(frozen=True, slots=True)
class Bucket:
    """The location of blobs. ``endpoint_url`` and ``region`` may be empty: then the AWS configuration decides."""

    name: str
    prefix: str = field(default="", repr=False)  # a mistyped URL may have a password there
    endpoint_url: str = field(default="", repr=False)
    region: str = field(default="", repr=False)

    @classmethod
    def of(cls, url: str) -> "Bucket":
        """Parse ``s3://BUCKET/PREFIX?endpoint_url=URL&region=REGION``. Raises ``ConfigError``."""
        try:
            parts = urlsplit(url)
        except ValueError:  # its text repeats parts of the URL
            raise ConfigError(f"{shown(url)!r} names no bucket; write {FORM}") from None
        options = dict(parse_qsl(parts.query, keep_blank_values=True))
        endpoint_url = options.get("endpoint_url", "https://")
        if "@" in f"{parts.netloc}{parts.path}" or "@" in endpoint_url:
            raise ConfigError(
                "the URL of a blob store holds no credentials, and an @ of a prefix as %40; set AWS_ACCESS_KEY_ID and "
                f"AWS_SECRET_ACCESS_KEY, or AWS_PROFILE, and write {FORM}"
            )
        if parts.scheme != "s3" or not _BUCKET.fullmatch(parts.netloc) or parts.fragment:
            raise ConfigError(f"{shown(url)!r} names no bucket; write {FORM}")
        if unknown := sorted(options.keys() - set(_OPTIONS)):
            near = "".join(f"; did you mean {close}?" for close in get_close_matches(unknown[0], _OPTIONS, 1))
            raise ConfigError(f"the URL of blob store s3://{parts.netloc} has an unknown option{near}; write {FORM}")
        if "" in options.values():
            raise ConfigError(f"an option of blob store s3://{parts.netloc} has no value; write {FORM}")
        if not endpoint_url.startswith(("https://", "http://")):
            raise ConfigError(f"endpoint_url does not begin with https:// or http://; write {FORM}")
        if "endpoint_url" in options and not is_shown_in_full(endpoint_url):
            raise ConfigError(f"endpoint_url is {shown(endpoint_url)} and more; write http://HOST:PORT alone; {FORM}")
        if "region" in options and not _REGION.fullmatch(options["region"]):
            raise ConfigError(f"region is not the name of one, such as eu-west-1; write {FORM}")
        return cls(parts.netloc, unquote(parts.path).strip("/"), **options)

    def __str__(self) -> str:
        where = f" at {self.endpoint_url}" if self.endpoint_url else ""
        return f"{shown(self.url)}{where}"

    @property
    def url(self) -> str:
        """Bucket and prefix, without the options."""
        return f"s3://{self.name}/{self.prefix}".rstrip("/")

    def key(self, name: str) -> str:
        """The key of this name below the prefix."""
        return f"{self.prefix}/{name}" if self.prefix else name

    def blob_key(self, digest: str) -> str:
        """The key of a blob, ``PREFIX/ab/cdef...``. Raises ``PackageRefused`` for an invalid digest."""
        if not _DIGEST.fullmatch(digest):
            raise PackageRefused(f"{digest!r} is not a sha-256 in lower-case hexadecimal; correct the package")
        return self.key(f"{digest[:2]}/{digest[2:]}")

    def digest(self, key: str) -> str:
        """The digest of the blob with this key, or an empty string if the key is not a blob's."""
        digest = key.removeprefix(self.key("")).replace("/", "", 1)
        return digest if _DIGEST.fullmatch(digest) and self.blob_key(digest) == key else ""
