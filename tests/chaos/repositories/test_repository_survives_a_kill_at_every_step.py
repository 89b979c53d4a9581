"""A folder repository is killed before each of its system calls in turn, and during the recovery from that.

The child is forked from this process and has no threads: it uses the blocking half of the repository. It counts
the calls that change the file system and kills itself before the one it was told.
"""

import os
import shutil
import signal
from collections.abc import Callable
from pathlib import Path

import pytest

from callboard.backends.fence import Token
from callboard.backends.repositories.folder.store import FolderStore
from callboard.backends.repository import Operation
from callboard.errors import LeaderReplaced
from callboard.testing.conformance.repository.every_change import NEW, OLD
from callboard.testing.conformance.repository.harness import Shape, shape

CHANGING_CALLS = (
    "open", "write", "fsync", "close", "ftruncate", "fchmod", "rename", "replace", "link", "unlink", "remove",
    "rmdir", "mkdir", "symlink", "chmod", "posix_fadvise",
)  # fmt: skip

CALLS_MAX = 1000
"""No run makes more calls, or it does not end."""

NESTED_EVERY = 19 if "CALLBOARD_LONG" in os.environ else 101
"""For every n-th kill, the recovery is itself killed at every step."""

FIVE, SIX, SEVEN = (Token("log", epoch) for epoch in (5, 6, 7))

State = tuple[bytes, dict[str, Shape]]


def state(root: Path, store: FolderStore) -> State:
    """The ledger and everything in the folder, after opening it."""
    ledger = store.open()
    found = {entry.path: shape(entry) for entry in store.entries("/", deep=True)}
    own = root / ".callboard"
    assert list((own / "stage").iterdir()) == []
    assert {path.name for path in own.iterdir()} <= {"lock", "stage", "ledger", "draft0", "draft1"}
    return ledger, found


def settled(root: Path) -> State:
    store = FolderStore(root)
    try:
        return state(root, store)
    finally:
        store.close()


def admits(root: Path, token: Token | None) -> bool:
    """Whether the repository takes a write with this token."""
    store = FolderStore(root)
    try:
        store.save(store.open(), token=token)
    except LeaderReplaced:
        return False
    finally:
        store.close()
    return True


def prepare(root: Path, operations: tuple[Operation, ...], ledger: bytes, token: Token | None = None) -> State:
    store = FolderStore(root)
    store.open()
    store.apply(operations, ledger, token)
    store.close()
    return settled(root)


def killed_at(step: int, body: Callable[[], None]) -> bool:
    """Run the body in a child that dies before its ``step``-th call; False if it came to its end."""
    child = os.fork()
    if child == 0:
        try:
            die_before(step)
            body()
            os.kill(os.getpid(), signal.SIGTERM)
        finally:
            os._exit(1)
    _, status = os.waitpid(child, 0)
    assert os.WIFSIGNALED(status), "the body failed"
    assert os.WTERMSIG(status) in {signal.SIGKILL, signal.SIGTERM}
    return os.WTERMSIG(status) == signal.SIGKILL


def die_before(step: int) -> None:
    left = [step]

    def counting(call: Callable[..., object]) -> Callable[..., object]:
        def counted(*args: object, **kwargs: object) -> object:
            left[0] -= 1
            if left[0] == 0:
                os.kill(os.getpid(), signal.SIGKILL)
            return call(*args, **kwargs)

        return counted

    for name in CHANGING_CALLS:
        setattr(os, name, counting(getattr(os, name)))


def apply_new(root: Path) -> Callable[[], None]:
    def body() -> None:
        store = FolderStore(root)
        store.open()
        store.apply(NEW, b"new", SEVEN)

    return body


@pytest.fixture
def template(tmp_path: Path) -> tuple[Path, State, State]:
    """A repository in its old state, by the leader of epoch 5, and what the old and the new state are."""
    old = prepare(tmp_path / "old", OLD, b"old", FIVE)
    shutil.copytree(tmp_path / "old", tmp_path / "new", symlinks=True)
    new = prepare(tmp_path / "new", NEW, b"new", SEVEN)
    assert old[0] == b"old"
    assert new[0] == b"new"
    assert old[1] != new[1]
    return tmp_path / "old", old, new


def fresh_copy(template: Path, name: str) -> Path:
    root = template.parent / name
    shutil.rmtree(root, ignore_errors=True)
    shutil.copytree(template, root, symlinks=True)
    return root


@pytest.mark.proves("F72", "W7")
def test_a_kill_at_any_step_leaves_the_old_or_the_new_state(template: tuple[Path, State, State]) -> None:
    source, old, new = template
    outcomes = []
    for step in range(1, CALLS_MAX):
        root = fresh_copy(source, "killed")
        if not killed_at(step, apply_new(root)):
            break
        outcomes.append(settled(root))
        assert outcomes[-1] in (old, new), f"killed before call {step}"
        assert admits(root, SIX) == (outcomes[-1] == old), f"killed before call {step}"
    else:
        pytest.fail("the apply does not end")
    assert settled(root) == new
    assert len(outcomes) > 100
    assert outcomes == sorted(outcomes, key=lambda found: found == new), "once new, always new"
    assert {found[0] for found in outcomes} == {b"old", b"new"}


def test_a_kill_at_any_step_of_the_recovery_is_recovered_from(template: tuple[Path, State, State]) -> None:
    source, old, new = template
    recoveries = 0
    for step in range(1, CALLS_MAX, NESTED_EVERY):
        broken = fresh_copy(source, "killed")
        if not killed_at(step, apply_new(broken)):
            break
        for recovery_step in range(1, CALLS_MAX):
            root = fresh_copy(broken, "killed-again")
            if not killed_at(recovery_step, lambda root=root: settled(root)):  # type: ignore[misc]
                break
            recoveries += 1
            assert (found := settled(root)) in (old, new), f"killed before calls {step} and then {recovery_step}"
            assert admits(root, SIX) == (found == old), f"killed before calls {step} and then {recovery_step}"
        assert settled(root) == settled(broken)
    assert recoveries > 100


@pytest.mark.parametrize("durable", [True, False])
def test_a_kill_during_a_save_never_goes_back(tmp_path: Path, durable: bool) -> None:
    _, content = prepare(tmp_path / "old", OLD, b"old")

    def body() -> None:
        store = FolderStore(root)
        store.open()
        store.save(b"newer", durable)
        store.save(b"newest", durable)

    ledgers = []
    for step in range(1, CALLS_MAX):
        root = fresh_copy(tmp_path / "old", "killed")
        if not killed_at(step, body):
            break
        ledger, found = settled(root)
        assert found == content
        ledgers.append(ledger)
    assert settled(root) == (b"newest", content)
    assert ledgers == sorted(ledgers, key=[b"old", b"newer", b"newest"].index)
    assert set(ledgers) == {b"old", b"newer", b"newest"}


def test_a_kill_during_the_saves_of_two_leaders_keeps_the_token_of_the_ledger(tmp_path: Path) -> None:
    prepare(tmp_path / "old", OLD, b"old")

    def body() -> None:
        store = FolderStore(root)
        store.open()
        store.save(b"five", durable=False, token=FIVE)
        store.save(b"five again", durable=False, token=FIVE)
        store.save(b"seven", durable=False, token=SEVEN)

    ledgers = []
    for step in range(1, CALLS_MAX):
        root = fresh_copy(tmp_path / "old", "killed")
        if not killed_at(step, body):
            break
        ledger, _ = settled(root)
        ledgers.append(ledger)
        assert admits(root, None) == (ledger == b"old")
        assert admits(root, SIX) == (ledger != b"seven")
    assert settled(root)[0] == b"seven"
    assert set(ledgers) == {b"old", b"five", b"five again", b"seven"}
