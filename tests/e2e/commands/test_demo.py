import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

DEADLINE_S = 240.0
SERVER_DEADLINE_S = 480.0
SERVERS = ("postgres", "kafka", "s3")


@pytest.fixture
def source(tmp_path: Path) -> Path:
    root = tmp_path / "library"
    for folder in range(6):
        (root / f"folder-{folder}").mkdir(parents=True)
        for number in range(8):
            (root / f"folder-{folder}" / f"file-{number}.txt").write_text(f"{folder} {number}\n" * 500)
    (root / "large.bin").write_bytes(os.urandom(2_000_000))
    return root


@pytest.fixture
def temporary(tmp_path: Path) -> Iterator[Path]:
    """Where the demo makes its folder: a short path, for the sockets of its processes."""
    folder = Path(f"/tmp/cbd-{os.getpid()}")
    folder.mkdir(mode=0o700)
    yield folder
    folder.rmdir()  # fails if the demo left anything behind


def start(source: Path, temporary: Path, *options: str) -> subprocess.Popen[str]:
    command = [sys.executable, "-m", "callboard", "demo", "--source", str(source), *options]
    return subprocess.Popen(
        command,
        text=True,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env={name: value for name, value in os.environ.items() if not name.startswith("CALLBOARD_")}
        | {"TMPDIR": str(temporary)},
        start_new_session=True,
    )


@pytest.mark.proves("W21", "W22")
def test_the_demo_ends_with_six_identical_subscribers_and_nothing_lost(source: Path, temporary: Path) -> None:
    out, errors = start(source, temporary, "--edits", "24", "--seed", "3").communicate(timeout=DEADLINE_S)
    last = out.splitlines()[-1] if out else errors
    assert last.startswith("demo: 6 of 6 subscribers identical to the source, "), errors
    assert last.endswith("0 lost, 0 applied twice, 4 kills survived")


@pytest.mark.parametrize("server", [pytest.param(name, marks=getattr(pytest.mark, name)) for name in SERVERS])
def test_the_demo_ends_the_same_on_servers(
    server: str, request: pytest.FixtureRequest, source: Path, temporary: Path
) -> None:
    place = request.getfixturevalue(f"place_on_{server}")
    demo = start(source, temporary, "--edits", "24", "--seed", "3", *place)
    out, errors = demo.communicate(timeout=SERVER_DEADLINE_S)
    last = out.splitlines()[-1] if out else errors
    assert last.startswith("demo: 6 of 6 subscribers identical to the source, "), errors
    assert last.endswith("0 lost, 0 applied twice, 4 kills survived")


def test_an_interrupted_demo_leaves_no_process_and_no_file(source: Path, temporary: Path) -> None:
    demo = start(source, temporary)
    assert demo.stderr is not None
    deadline = time.monotonic() + 120
    for line in demo.stderr:  # until the whole fleet works
        if line.startswith("publishing") or time.monotonic() > deadline:
            break
    assert len(list(_at_work_for(temporary))) > 30
    demo.send_signal(signal.SIGINT)
    demo.communicate(timeout=60)
    assert demo.returncode == 130
    assert not list(_at_work_for(temporary))


def test_the_processes_of_a_killed_demo_end_with_it(source: Path, temporary: Path) -> None:
    demo = start(source, temporary)
    assert demo.stderr is not None
    for line in demo.stderr:  # until one of the fleet works
        if " idle " in line:
            break
    assert len(list(_at_work_for(temporary))) > 3
    demo.kill()
    demo.communicate(timeout=60)
    deadline = time.monotonic() + 60
    while left := list(_at_work_for(temporary)):
        assert time.monotonic() < deadline, left
        time.sleep(0.05)
    for folder in temporary.iterdir():  # the killed demo cannot remove its files itself
        shutil.rmtree(folder)


def _at_work_for(folder: Path) -> Iterator[int]:
    """The processes that were started with this temporary folder, under any parent."""
    for environment in Path("/proc").glob("[0-9]*/environ"):
        try:
            inherited = environment.read_bytes()
        except OSError:  # it has ended
            continue
        if os.fsencode(folder) in inherited:
            yield int(environment.parent.name)
