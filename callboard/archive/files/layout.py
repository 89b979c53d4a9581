"""The names of an archive's files. Numbers in them have twenty digits, so that names sort as the numbers do."""

import re

SEGMENT = re.compile(r"segment/[a-z0-9][a-z0-9._-]{0,80}/[0-9]{20}-[0-9a-f]{1,64}\.parquet")
"""What a manifest may refer to: nothing outside the archive."""


def segments() -> str:
    """What the names of all segments begin with."""
    return "segment/"


def segment(topic: str, first: int, unique: str) -> str:
    """A segment whose first record has the offset ``first``."""
    return f"segment/{topic}/{first:020d}-{unique}.parquet"


def manifests(topic: str) -> str:
    """What the names of the topic's manifests begin with."""
    return f"manifest/{topic}/"


def manifest(topic: str, first: int) -> str:
    """The manifest of a range that begins at the offset ``first``: there can be only one."""
    return f"manifest/{topic}/{first:020d}.json"


def generations(topic: str) -> str:
    """What the names of the topic's generations begin with."""
    return f"generation/{topic}/"


def generation(topic: str, number: int) -> str:
    """The result of a compaction; the first has the number 1."""
    return f"generation/{topic}/{number:020d}.json"


def lineage(topic: str, log_id: str) -> str:
    """The note that a log was restored from this archive under another identity."""
    return f"lineage/{topic}/{log_id}.json"
