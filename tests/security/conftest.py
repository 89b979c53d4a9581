"""What the tests of attacks share."""

import os
import traceback
from collections.abc import Callable, Iterator
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest

NOBODY = 65534


@pytest.fixture
def as_ordinary_user() -> Callable[[Callable[[], None]], None]:
    """Runs a function in a child process without the superuser's rights, for whom permissions mean nothing."""

    def run(body: Callable[[], None]) -> None:
        read, write = os.pipe()
        child = os.fork()
        if child == 0:
            try:
                if os.geteuid() == 0:
                    os.setgroups([])
                    os.setresgid(NOBODY, NOBODY, NOBODY)
                    os.setresuid(NOBODY, NOBODY, NOBODY)
                body()
            except BaseException:  # noqa: BLE001 - the parent raises it
                os.write(write, traceback.format_exc().encode()[-60_000:])
            finally:
                os._exit(0)
        os.close(write)
        with os.fdopen(read, "rb") as answer:
            failure = answer.read().decode()
        os.waitpid(child, 0)
        assert not failure, failure

    return run


@pytest.fixture
def ordinary_path() -> Iterator[Path]:
    """A folder of the ordinary user's, on a path that they can reach: ``tmp_path`` is for its owner alone."""
    with TemporaryDirectory(dir="/tmp", prefix="callboard-ordinary-") as path:
        if os.geteuid() == 0:
            os.chown(path, NOBODY, NOBODY)
        yield Path(path)
