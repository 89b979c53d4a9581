"""Pytest finds the fixtures by itself, and they are no burden to tests that do not use them."""

import re
from pathlib import Path

import pytest

from tests.unit.testing.boards.user import User

BLOCKING = '''
import pytest
from callboard.testing.boards import assert_published

@pytest.fixture
def site(tmp_path):
    (tmp_path / "site").mkdir()
    (tmp_path / "site" / "index.html").write_text("hello")
    return tmp_path / "site"

@pytest.mark.parametrize("number", range(4))
def test_each_test_has_a_board_of_its_own(callboard_board, callboard_fleet, site, number):
    fleet = callboard_fleet(2)
    publisher = callboard_board.publisher("site")
    assert publisher.publish("site").offset == 1
    fleet.deliver_all()
    assert [each.name for each in fleet] == ["edge-1", "edge-2"]
    assert [(each.into / "index.html").read_text() for each in fleet] == ["hello", "hello"]
    assert_published(publisher, path="/index.html", times=1)

def test_all_fixtures_are_of_one_board(
    callboard_memory, callboard_board, callboard_clock, callboard_fleet, callboard_run_jobs
):
    assert callboard_memory.board is callboard_board
    assert callboard_memory.clock is callboard_clock
    callboard_board.jobs.add("greet", "ann", delay_s=60)
    callboard_clock.advance(60)
    [job] = callboard_run_jobs({"greet": lambda name: f"hello {name}"})
    assert job.result == "hello ann"
'''

ASYNCHRONOUS = '''
import asyncio
import pytest

@pytest.fixture
def anyio_backend():
    return "asyncio"

async def play(board):
    async with board as test:
        fleet = await test.fleet(1)
        await test.board.publisher("site").test()
        await fleet.deliver_all()
        assert len((await test.board.status()).subscribers) == 1

@pytest.mark.anyio
async def test_with_the_plugin_of_anyio(callboard_async):
    await play(callboard_async)

def test_without_any_plugin(callboard_async):
    asyncio.run(play(callboard_async))
'''

STRANGER = '''
import sys

def test_nothing_of_it_is_loaded():
    ours = [name for name in sys.modules if name.partition(".")[0] == "callboard"]
    assert sorted(ours) == ["callboard", "callboard.testing", "callboard.testing.plugin"]
    assert not {"thespian", "google.protobuf", "structlog"} & set(sys.modules)

def test_its_assertions_are_not_rewritten():
    import callboard.board.publisher
    assert "@pytest_ar" in globals()
    assert "@pytest_ar" not in vars(callboard.board.publisher)
'''


@pytest.fixture
def user(tmp_path: Path) -> User:
    return User(tmp_path)


def test_blocking_tests_use_the_fixtures(user: User) -> None:
    user.write(test_site=BLOCKING)
    assert "5 passed" in user.pytest()


def test_tests_use_the_fixtures_side_by_side(user: User) -> None:
    user.write(test_site=BLOCKING, test_more=BLOCKING)
    assert "10 passed" in user.pytest("-n", "2")


def test_asynchronous_tests_use_the_fixture_on_their_own_loop(user: User) -> None:
    user.write(test_site=ASYNCHRONOUS)
    assert "2 passed" in user.pytest()


def test_it_needs_no_other_plugin(user: User) -> None:
    user.write(test_site=BLOCKING)
    alone = {"PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"}
    assert "5 passed" in user.pytest("-p", "callboard.testing.plugin", **alone)


def test_a_suite_that_does_not_use_it_loads_nothing(user: User) -> None:
    user.write(test_other=STRANGER)
    assert "2 passed" in user.pytest("--strict-config", "--strict-markers")


def test_it_can_be_switched_off(user: User) -> None:
    user.write(test_site=BLOCKING)
    assert "fixture 'callboard_board' not found" in user.pytest("-p", "no:callboard", "-k", "own", code=1)


def test_the_fixtures_are_listed_with_what_they_are(user: User) -> None:
    user.write(test_other=STRANGER)
    said = user.pytest("--fixtures")
    names = set(re.findall(r"^(callboard_\w+)", said, re.MULTILINE))
    assert names == {f"callboard_{name}" for name in ("async", "board", "clock", "fleet", "memory", "run_jobs")}
