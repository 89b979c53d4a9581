"""Blobs in a folder that goes wrong in the midst of a put."""

import asyncio
import errno
from hashlib import sha256
from pathlib import Path

import pytest

from callboard.backends.blob_stores.folder import FolderBlobStore
from callboard.errors import BlobUnavailable

CONTENT = b"content"


def test_a_file_system_that_turns_read_only_makes_the_store_unavailable(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def read_only(*_: object, **__: object) -> None:
        raise OSError(errno.EROFS, "Read-only file system")

    async def scenario() -> None:
        store = FolderBlobStore(tmp_path)
        try:
            with pytest.raises(BlobUnavailable, match="mount that file system for writing"):
                await store.put(sha256(CONTENT).hexdigest(), [CONTENT])
        finally:
            await store.close()

    monkeypatch.setattr("callboard.backends.blob_stores.folder.write_all", read_only)
    monkeypatch.setattr(Path, "unlink", read_only)
    asyncio.run(scenario())
