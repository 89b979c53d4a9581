"""An instance keeps its id in a file of its host, and a copy of the file is not taken for a restart."""

import errno
import json
import shutil
from itertools import count
from pathlib import Path

import pytest

from callboard import ConfigError, MembershipEnded
from callboard.board.member.identity import FILE, Identity
from tests.unit.board.member.clusters import QUICK, Cluster, eventually, run


def claimed(folder: Path) -> Identity:
    ids = count(1)
    return Identity.claim(folder, lambda: f"id{next(ids)}")


@pytest.mark.proves("T1")
def test_the_id_survives_a_restart_which_knows_the_former_incarnation(tmp_path: Path) -> None:
    first = claimed(tmp_path)
    assert (first.instance, first.previous) == ("id1", "")
    first.keep("life1")
    first.close()
    again = Identity.claim(tmp_path, lambda: "never")
    assert (again.instance, again.previous) == ("id1", "life1")
    again.keep("life2")
    again.close()
    assert json.loads((tmp_path / FILE).read_text())["incarnation"] == "life2"


@pytest.mark.proves("T1")
def test_two_processes_cannot_have_one_identity(tmp_path: Path) -> None:
    first = claimed(tmp_path)
    with pytest.raises(MembershipEnded, match="or set instance to another id") as caught:
        claimed(tmp_path)
    assert caught.value.code == "duplicate_id"
    first.close()
    first.close()
    claimed(tmp_path).close()


def test_a_copied_folder_has_the_id_but_not_the_right_to_take_over(tmp_path: Path) -> None:
    first = claimed(tmp_path)
    first.keep("life1")
    (tmp_path / "copy").mkdir()
    shutil.copy(tmp_path / FILE, tmp_path / "copy" / FILE)
    copy = claimed(tmp_path / "copy")
    assert (copy.instance, copy.previous) == ("id1", "")
    copy.close()
    first.close()


@pytest.mark.parametrize(
    "text", ["x", "[]", '{"instance": 1, "incarnation": "a"}', '{"instance": "a/b", "incarnation": "a"}']
)
def test_a_damaged_file_is_refused_with_the_remedy(text: str, tmp_path: Path) -> None:
    (tmp_path / FILE).write_text(text)
    with pytest.raises(ConfigError, match=r"is damaged.*remove it"):
        claimed(tmp_path)


def test_a_disk_that_is_full_costs_no_identity(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(_: object, __: object) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    first = claimed(tmp_path)
    first.keep("life1")
    monkeypatch.setattr("callboard.board.member.identity.write_all", fail)
    with pytest.raises(ConfigError, match="cannot be written: No space left on device"):
        first.keep("life2")
    first.close()
    again = claimed(tmp_path)
    assert (again.instance, again.previous) == ("id1", "life1")
    again.close()


def test_a_folder_that_cannot_be_written_is_refused_with_the_remedy(tmp_path: Path) -> None:
    (tmp_path / FILE).symlink_to(tmp_path / "elsewhere")
    with pytest.raises(ConfigError, match=r"cannot be opened: .*; set instance to an id"):
        claimed(tmp_path)


@pytest.mark.proves("T59")
def test_a_member_that_was_killed_takes_its_place_at_once_as_the_last(tmp_path: Path) -> None:
    async def scenario(cluster: Cluster) -> None:
        board = await cluster.board("a")
        first = board.member(**QUICK | {"lease_s": 1000, "ack_deadline_s": 1000})
        await first.start()
        view = await first.settled()
        assert first.attendance is not None
        first.attendance.ending.cancel()  # as if it had been killed: it leaves nothing but its lease and the file
        await first.attendance.agent.stop(0)
        first.attendance._identity.close()
        async with board.member(**QUICK) as second:
            again = await second.settled()
            assert again.local_instance.instance == view.local_instance.instance
            assert again.local_instance.incarnation != view.local_instance.incarnation
            assert again.epoch > view.epoch
            await eventually(second.is_leader)

    run(scenario, tmp_path)
