"""The names of an archive's files. Numbers are padded to twenty digits, so that names sort numerically."""

import re

SEGMENT = re.compile(r"segment/[a-z0-9][a-z0-9._-]{0,80}/[0-9]{20}-[0-9a-f]{1,64}\.parquet")
"""The only names that a manifest may refer to; none is outside the archive."""


def segments() -> str:
    """The common prefix of all segments."""
    return "segment/"


def segment(topic: str, first: int, unique: str) -> str:
    """A segment whose first record has the offset ``first``."""
    return f"segment/{topic}/{first:020d}-{unique}.parquet"


def manifests(topic: str) -> str:
    """The common prefix of the topic's manifests."""
    return f"manifest/{topic}/"


def manifest(topic: str, first: int) -> str:
    """The manifest of the range that begins at the offset ``first``; there can be only one."""
    return f"manifest/{topic}/{first:020d}.json"


def generations(topic: str) -> str:
    """The common prefix of the topic's generations."""
    return f"generation/{topic}/"


def generation(topic: str, number: int) -> str:
    """The result of a compaction; the first is number 1."""
    return f"generation/{topic}/{number:020d}.json"


def lineage(topic: str, log_id: str) -> str:
    """The note that a log was restored from this archive under another identity."""
    return f"lineage/{topic}/{log_id}.json"
