"""The log of running members is locked, moved away, replaced by an older copy, or gets a record that is too new."""

import asyncio
import shutil
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, closing, contextmanager
from pathlib import Path

import pytest

from callboard import Callboard
from callboard.messages.record import NewRecord
from callboard.messages.topics import control_topic
from tests.chaos.faults.services import LONG_S, Services


@pytest.fixture
def services(tmp_path: Path) -> Iterator[Services]:
    with Services(tmp_path, f"sqlite:///{tmp_path}/board.db") as services:
        yield services


def topic(folder: Path) -> Path:
    return folder / "board.db" / "callboard.topology.db"


@contextmanager
def locked(folder: Path) -> Iterator[None]:
    with closing(sqlite3.connect(topic(folder), isolation_level=None)) as program:
        program.execute("BEGIN EXCLUSIVE")
        yield
        program.execute("ROLLBACK")


@contextmanager
def moved_away(folder: Path) -> Iterator[None]:
    (folder / "board.db").rename(folder / "away")
    yield
    (folder / "away").rename(folder / "board.db")


@pytest.mark.proves("T87")
@pytest.mark.parametrize(
    ("strike", "why"),
    [(locked, "no renewal was read back in time"), (moved_away, "was removed while in use; put it back")],
)
def test_without_their_log_members_stop_and_with_it_they_go_on_in_the_same_view(
    strike: Callable[[Path], AbstractContextManager[None]], why: str, services: Services, tmp_path: Path
) -> None:
    services.lease_s = 5.0  # all are to renew in time once the log is back
    a, b = services.pair()
    led, epoch = a.last("leads"), a.last("topology_changed")["epoch"]

    with strike(tmp_path):
        services.until(lambda: not a.leads and a.sees == b.sees == "")
        for each in (a, b):
            assert "event='member.lapsed'" in each.logged()
            assert why in each.logged()

    services.until(lambda: a.leads and a.sees == b.sees == "ab")
    assert (a.last("topology_changed")["epoch"], a.last("leads")["epoch"]) == (epoch, led["epoch"])
    assert services.no_two_led_at_once()


def copied(folder: Path) -> Path:
    with closing(sqlite3.connect(topic(folder))) as now, closing(sqlite3.connect(folder / "copy.db")) as copy:
        now.backup(copy)
    return folder / "copy.db"


def renamed(older: Path, database: Path) -> None:
    older.replace(database)


def overwritten(older: Path, database: Path) -> None:
    shutil.copyfile(older, database)


@pytest.mark.parametrize("put_back", [renamed, overwritten])
def test_an_older_copy_restored_under_running_members_ends_them_before_others_start_from_it(
    put_back: Callable[[Path, Path], None], services: Services, tmp_path: Path
) -> None:
    a, b = services.pair()
    older = copied(tmp_path)
    c = services.start("c")
    services.until(lambda: a.sees == b.sees == c.sees == "abc")

    for end in ("-wal", "-shm"):
        topic(tmp_path).with_name(f"{topic(tmp_path).name}{end}").unlink()
    put_back(older, topic(tmp_path))

    services.until(lambda: not a.leads)
    d = services.start("d")
    services.until(lambda: d.leads)
    services.until(lambda: {each.end.get("code") for each in (a, b, c)} == {"log_replaced"})
    assert "was replaced while in use; stop every process of this board and start again" in a.end["why"]
    assert d.last("leads")["log_id"] != a.last("leads")["log_id"], "resources tell the two apart"
    assert services.no_two_led_at_once()


def test_a_record_of_a_newer_major_version_ends_the_members_and_those_that_start_and_says_what_to_do(
    services: Services, tmp_path: Path
) -> None:
    services.lease_s = LONG_S
    a, b = services.pair()

    async def append() -> None:
        async with Callboard(services.log, blobs="./blobs", base=tmp_path) as board:
            await board.log.append(
                control_topic(), [NewRecord(payload=b"", headers=(("type", "Novel"), ("version", "9.0")))]
            )

    asyncio.run(append())

    services.until(lambda: a.end and b.end)
    again = services.start("a")
    services.until(lambda: again.end)
    for each in (a, b, again):
        assert each.end["code"] == "too_new"
        assert "needs a newer version; upgrade" in each.end["why"]
