"""Small JSON files, written atomically."""

import json
import os
from collections.abc import Mapping
from pathlib import Path


def write_document(path: Path, document: Mapping[str, object]) -> None:
    """Write the document, replacing an existing one; durable on return."""
    draft = path.with_name(f"{path.name}.new")
    with draft.open("w", encoding="utf-8") as file:
        file.write(json.dumps(document, indent=2) + "\n")
        file.flush()
        os.fsync(file.fileno())
    draft.replace(path)
