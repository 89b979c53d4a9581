"""Small JSON files, written atomically."""

import json
from collections.abc import Mapping
from pathlib import Path

from callboard.backends.local.disk import replacing


def write_document(path: Path, document: Mapping[str, object]) -> None:
    """Write the document, replacing an existing one; durable on return."""
    with replacing(path) as file:
        file.write(json.dumps(document, indent=2).encode() + b"\n")
