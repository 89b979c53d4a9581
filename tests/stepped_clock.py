"""A wall clock of its own for a process, stepped while it runs by libfaketime."""

from importlib.util import find_spec
from pathlib import Path


def step(clock: Path, by: str) -> None:
    """The wall clock of the processes on this file jumps: ``by`` is its difference from the right time, as ``+45s``."""
    new = clock.with_suffix(".new")
    new.write_text(f"{by}\n")
    new.rename(clock)


def environment(clock: Path) -> dict[str, str]:
    """What a process is started with to have its wall clock in this file. Its monotonic clocks stay right."""
    return {
        "LD_PRELOAD": str(_library()), "FAKETIME_TIMESTAMP_FILE": str(clock), "FAKETIME_NO_CACHE": "1",
        "DONT_FAKE_MONOTONIC": "1", "NO_FAKE_STAT": "1",
    }  # fmt: skip


def _library() -> Path:
    """The library that steps clocks. Without it a test of stepped clocks proves nothing, so it fails."""
    found = find_spec("libfaketime")
    folder = Path(found.origin).parent if found is not None and found.origin is not None else None
    libraries = sorted(folder.rglob("libfaketime.so.1")) if folder is not None else []
    assert libraries, (
        "clocks cannot be stepped without libfaketime.so.1, which package libfaketime compiles when it is installed; "
        "make the tests' environment again (rm .venv/.ready-test; make test), where there is a C compiler"
    )
    return libraries[0]
