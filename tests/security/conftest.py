"""Fixtures of the tests of attacks."""

import os
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest

from tests.ordinary_user import NOBODY


@pytest.fixture
def ordinary_path() -> Iterator[Path]:
    """A folder of the ordinary user's, on a path that they can reach: ``tmp_path`` is for its owner alone."""
    with TemporaryDirectory(dir="/tmp", prefix="callboard-ordinary-") as path:
        if os.geteuid() == 0:
            os.chown(path, NOBODY, NOBODY)
        yield Path(path)
