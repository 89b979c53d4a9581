"""A leader is suspended before it writes, and replaced. Its write comes after that of its successor."""

import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

from callboard.backends.repositories.sqlite.store import SqliteStore
from callboard.testing.conformance.repository.harness import a_file, shapes

SCRIPT = Path(__file__).with_name("leader_process.py")


class Leader:
    """The process of one member."""

    def __init__(self, process: "subprocess.Popen[str]") -> None:
        assert process.stdin is not None
        assert process.stdout is not None
        self._input, self._output = process.stdin, process.stdout

    def says(self) -> str:
        """The next line of its output; empty when it has ended."""
        return self._output.readline().strip()

    def go_on(self) -> None:
        self._input.write("\n")
        self._input.flush()


@contextmanager
def started(folder: Path, instance: str) -> Iterator[Leader]:
    command = [sys.executable, str(SCRIPT), str(folder), instance]
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "text": True}
    with subprocess.Popen(command, **pipes) as process:  # type: ignore[call-overload]
        try:
            yield Leader(process)
        finally:
            process.kill()


def test_a_write_of_a_suspended_leader_is_refused_after_its_successor_has_written(tmp_path: Path) -> None:
    with ExitStack() as stack:
        former = stack.enter_context(started(tmp_path, "former"))
        assert former.says() == "leads"
        new = stack.enter_context(started(tmp_path, "new"))
        assert new.says() == "leads"
        new.go_on()
        assert new.says() == "wrote"
        former.go_on()
        assert former.says() == "refused"
    store = SqliteStore(tmp_path / "site.db")
    assert store.open() == b"new"
    assert shapes(store) == {"/leader": a_file("new")}
    store.close()
