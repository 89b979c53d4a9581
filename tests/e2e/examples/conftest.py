"""Copies of the examples."""

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.e2e.examples.reader import Reader


@pytest.fixture
def reader(tmp_path: Path) -> Iterator[Callable[[str], Reader]]:
    """Makes a reader of an example."""
    readers: list[Reader] = []

    def make(example: str) -> Reader:
        readers.append(Reader(example, tmp_path))
        return readers[-1]

    yield make
    for each in readers:
        each.close()
