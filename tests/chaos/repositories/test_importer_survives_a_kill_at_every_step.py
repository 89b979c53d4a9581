"""An importer is killed before each of its system calls in turn: in a batch, while it sets aside, retries and skips.

The child is forked from this process. It drives the importer's decision with a real repository and counts the calls
that change the file system, as its neighbour that kills the repository alone does.
"""

import asyncio
import os
import signal
from collections.abc import Iterator
from pathlib import Path

import pytest

from callboard.backends.repositories.folder import FolderRepository
from tests.chaos.repositories.importer_life import Scene, stored

CHANGING_CALLS = ("open", "write", "fsync", "rename", "replace", "link", "unlink", "rmdir", "mkdir", "chmod", "fchmod")
CALLS_MAX = 2000
"""No run makes more calls, or it does not end."""
EVERY = 3
"""It is killed before every n-th call."""


def lived(scene: Scene, root: Path, step: int) -> bool:
    """Let a child live one life; False if it was killed before its ``step``-th call."""
    child = os.fork()
    if child == 0:
        try:
            die_before(step)
            asyncio.run(scene.play(FolderRepository(root), root / ".callboard" / "spool"))
            os.kill(os.getpid(), signal.SIGTERM)
        finally:
            os._exit(1)
    _, status = os.waitpid(child, 0)
    assert os.WIFSIGNALED(status), f"the life failed, killed before call {step}"
    return os.WTERMSIG(status) != signal.SIGKILL


def die_before(step: int) -> None:
    calls = iter(range(1, step + 1))

    def counting(name: str) -> None:
        call = getattr(os, name)

        def counted(*args: object, **kwargs: object) -> object:
            if next(calls) == step:
                os.kill(os.getpid(), signal.SIGKILL)
            return call(*args, **kwargs)

        setattr(os, name, counted)

    for name in CHANGING_CALLS:
        counting(name)


def files(root: Path) -> dict[str, str]:
    found = sorted(path for path in root.rglob("*") if ".callboard" not in path.parts)
    return {str(path.relative_to(root)): path.read_text() if path.is_file() else "" for path in found}


def steps() -> Iterator[int]:
    yield from range(1, CALLS_MAX, EVERY)


@pytest.mark.proves("W5", "W7", "W22")
def test_an_importer_killed_at_any_step_applies_each_package_once_and_empties_its_quarantine(
    tmp_path: Path,
) -> None:
    scene = Scene()
    asyncio.run(scene.prepare(tmp_path))
    for step in steps():
        root = tmp_path / str(step)
        ended = lived(scene, root, step)
        assert lived(scene, root, CALLS_MAX), "the life after does not end"
        ledger = asyncio.run(stored(FolderRepository(root)))
        assert files(root) == {"a": "2", "b": "1", "c": "", "d": "1"}, f"killed before call {step}"
        assert (ledger.offset, ledger.held, ledger.skipped) == (6, (), 1), f"killed before call {step}"
        assert ledger.imported + ledger.superseded == 5, f"killed before call {step}"
        assert ledger.outbox == ledger.results == ()
        if ended:
            break
    else:
        pytest.fail("the life does not end")
    assert step > 50, "there is more to be killed in"
