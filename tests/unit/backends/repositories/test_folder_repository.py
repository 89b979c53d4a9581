"""What only a folder repository does: its files on disk, and what it makes of files that others changed."""

import json
import os
import shutil
from pathlib import Path

import pytest

from callboard.backends.fence import Token
from callboard.backends.repositories.folder import record
from callboard.backends.repositories.folder.record import FORMAT
from callboard.backends.repositories.folder.store import FolderStore
from callboard.backends.repository import Delete, Operation, Prune
from callboard.errors import PackageRefused, RepositoryBusy, RepositoryUnavailable, SchemaTooNew
from callboard.testing.conformance.repository.harness import file, folder, link


@pytest.fixture
def root(tmp_path: Path) -> Path:
    return tmp_path / "content"


@pytest.fixture
def store(root: Path) -> FolderStore:
    made = FolderStore(root)
    made.open()
    return made


def interrupted(root: Path, store: FolderStore, *operations: Operation) -> None:
    """Leave the folder as a kill right after the commit leaves it."""
    intent, stage = root / ".callboard/intent", root / ".callboard/stage"
    replace = os.replace

    def stop_after_commit(source: str, target: str, **folders: int) -> None:
        replace(source, target, **folders)
        if target == intent.name:
            raise KeyboardInterrupt

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(os, "replace", stop_after_commit)
        with pytest.raises(KeyboardInterrupt):
            store.apply(operations, b"committed")
    store.close()
    assert intent.exists()
    assert list(stage.iterdir())


def test_the_recovery_does_not_follow_a_link_in_place_of_a_parent_folder(root: Path, tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    store = FolderStore(root)
    store.open()
    store.apply([file("/a/b/old"), file("/c/old")], b"old")
    interrupted(root, store, file("/a/b/new", "new"), Delete("/c/old"))
    for name in ("a", "c"):
        shutil.rmtree(root / name)
        (root / name).symlink_to(outside)
    (outside / "old").touch()
    store = FolderStore(root)
    assert store.open() == b"committed"
    store.close()
    assert [path.name for path in outside.iterdir()] == ["old"]
    assert (root / "a/b/new").read_text() == "new"
    assert not (root / "a").is_symlink()


def test_foreign_files_in_the_folder_stay_until_a_package_names_them(root: Path, store: FolderStore) -> None:
    store.apply([file("/a/mine")], b"")
    (root / "a/theirs").touch()
    store.apply([file("/a/mine", "new")], b"")
    assert (root / "a/theirs").exists()
    store.apply([Prune("/a", frozenset(["/a/mine"]))], b"")
    assert not (root / "a/theirs").exists()
    store.close()


def test_an_unchanged_folder_is_not_touched(root: Path, store: FolderStore) -> None:
    store.apply([file("/a/b/c"), folder("/x", 0o700)], b"")
    before = (root / "a").stat()
    store.apply([file("/a/b/c", "new"), folder("/x", 0o700), folder("/a")], b"")
    after = (root / "a").stat()
    assert (before.st_ino, before.st_ctime_ns) == (after.st_ino, after.st_ctime_ns)
    store.close()


def test_the_set_group_id_bit_of_a_folder_is_kept(root: Path, store: FolderStore) -> None:
    store.apply([folder("/a", 0o755)], b"")
    (root / "a").chmod(0o2755)
    store.apply([folder("/a", 0o775), file("/a/x")], b"")
    assert (root / "a").stat().st_mode & 0o7777 == 0o2775
    store.close()


def test_a_hard_link_outside_the_root_keeps_its_content(root: Path, store: FolderStore, tmp_path: Path) -> None:
    store.apply([file("/a", "old")], b"")
    os.link(root / "a", tmp_path / "outside")
    store.apply([file("/a", "new")], b"")
    assert (tmp_path / "outside").read_text() == "old"
    store.close()


def test_the_state_of_a_newer_version_is_refused(root: Path, store: FolderStore) -> None:
    store.apply([], b"ledger")
    store.close()
    ledger = root / ".callboard/ledger"
    head, rest = ledger.read_bytes().split(b"\n", 1)
    ledger.write_bytes(json.dumps(json.loads(head) | {"format": FORMAT + 1}).encode() + b"\n" + rest)
    with pytest.raises(SchemaTooNew, match="upgrade callboard"):
        store.open()
    store.close()


def test_older_versions_refuse_a_repository_with_a_token(store: FolderStore, monkeypatch: pytest.MonkeyPatch) -> None:
    store.apply([], b"without")
    monkeypatch.setattr(record, "FORMAT", 1)
    assert store.open() == b"without"
    monkeypatch.undo()
    store.apply([], b"with", Token("log", 5))
    monkeypatch.setattr(record, "FORMAT", 1)
    with pytest.raises(SchemaTooNew):
        store.open()
    store.close()


@pytest.mark.parametrize("name", ["ledger", "intent"])
@pytest.mark.parametrize("damage", [b"", b"{}", b"null\n", b'{"format": 1}\n', b"garbage"])
def test_a_damaged_state_is_never_read_as_an_empty_one(
    name: str, damage: bytes, root: Path, store: FolderStore
) -> None:
    store.apply([file("/a")], b"ledger")
    state = root / ".callboard" / name
    state.write_bytes(damage)
    with pytest.raises(RepositoryUnavailable, match=f"{name} is damaged; check the disk"):
        store.open()
    with pytest.raises(RepositoryUnavailable, match="is damaged"):
        store.save(b"over it")
    store.close()


def test_a_bit_that_flipped_in_the_ledger_is_noticed(root: Path, store: FolderStore) -> None:
    store.apply([], b"ledger")
    file_ = root / ".callboard/ledger"
    file_.write_bytes(file_.read_bytes().replace(b"ledger\n", b"lodger\n"))
    with pytest.raises(RepositoryUnavailable, match="damaged"):
        store.open()
    store.close()


@pytest.mark.parametrize("damage", [b"", b"half", b"{}\n"])
def test_a_draft_torn_by_a_loss_of_power_falls_back_to_the_previous_one(
    damage: bytes, root: Path, store: FolderStore
) -> None:
    store.save(b"durable")
    store.save(b"draft", durable=False)
    store.save(b"second draft", durable=False)
    (root / ".callboard/draft0").write_bytes(damage)
    assert store.open() == b"draft"
    (root / ".callboard/draft1").write_bytes(damage)
    assert store.open() == b"durable"
    store.close()


def test_a_path_too_long_for_the_kernel_is_refused_before_the_commit(tmp_path: Path) -> None:
    root = tmp_path.joinpath(*["r" * 200] * 6)
    store = FolderStore(root)
    store.open()
    with pytest.raises(PackageRefused, match="use a shorter root"):
        store.apply([file("/x"), file("/d" * 1500)], b"")
    assert store.open() == b""
    assert not (root / "x").exists()
    store.close()


def test_a_state_folder_that_is_a_link_is_refused(root: Path, tmp_path: Path) -> None:
    (tmp_path / "elsewhere/stage").mkdir(parents=True)
    root.mkdir()
    (root / ".callboard").symlink_to(tmp_path / "elsewhere")
    with pytest.raises(RepositoryUnavailable, match="is a link"):
        FolderStore(root).open()


def test_a_state_folder_removed_while_in_use_is_not_silently_recreated(root: Path, store: FolderStore) -> None:
    store.apply([file("/a", "content")], b"ledger")
    shutil.rmtree(root)
    with pytest.raises(RepositoryUnavailable, match="start it again"):
        store.open()
    store.close()
    assert store.open() == b""


def test_a_lock_removed_while_in_use_is_noticed(root: Path, store: FolderStore) -> None:
    (root / ".callboard/lock").unlink()
    other = FolderStore(root)
    other.open()
    with pytest.raises(RepositoryUnavailable, match="removed or exchanged"):
        store.open()


def test_a_lock_without_the_name_of_a_process_is_held_all_the_same(root: Path, store: FolderStore) -> None:
    (root / ".callboard/lock").write_bytes(b"\xff\xfe")
    with pytest.raises(RepositoryBusy, match="is open in process"):
        FolderStore(root).open()


def test_a_root_that_is_a_file_is_named(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(RepositoryUnavailable, match="file"):
        FolderStore(tmp_path / "file").open()


def test_a_link_with_a_dangling_target_can_be_replaced(root: Path, store: FolderStore) -> None:
    store.apply([link("/l", "nowhere")], b"")
    store.apply([file("/l", "x")], b"")
    assert (root / "l").read_text() == "x"
    assert not (root / "nowhere").exists()
    store.close()
