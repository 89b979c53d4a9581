"""The service, once for all tests of the API."""

from collections.abc import Iterator

import pytest

from tests.web.api.served_board import Served, serving


@pytest.fixture(scope="package")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    with serving(tmp_path_factory.mktemp("board")) as it:
        yield it
