"""Processes on a real board: who carries out tasks, when, and how often."""

import asyncio
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

import pytest

from callboard import Callboard
from callboard.actors.entities import deciding, entity_fold, entity_table, held
from callboard.actors.entities.asking import AskEntity
from callboard.actors.entities.entity import Entity
from callboard.actors.worlds.asker import Asker
from callboard.backends.log import Retention
from callboard.board.entities.entities import Entities
from callboard.messages.entities.entity_mail import EntityCommand
from callboard.messages.entities.sealing import sealed
from callboard.messages.topics import PREFIX, entity_topic
from examples.stock.stock import Order, Place, Receive, Shelf, Stage
from tests.chaos.entities.shop import POINTS, Balance, Balances, Points, Transfer, Transfers
from tests.e2e.commands.test_commands import on_a_loop
from tests.unit.actors.entities.bank import Account, Move

TOPIC = entity_topic("test_bank.account", PREFIX)
S = TypeVar("S", bound=Entity)
DEADLINE_S = 30
POLL_S = 0.02


async def state_when(its: Entities[S], key: str, condition: Callable[[S], bool]) -> S:
    """Wait until the state is like that."""
    async with asyncio.timeout(DEADLINE_S):
        while True:
            found = (await its.get(key)).state
            if found is not None and condition(found):
                return found
            await asyncio.sleep(POLL_S)


async def end_of(transfers: Entities[Transfers], key: str) -> str:
    return (await state_when(transfers, key, lambda its: its.step in ("done", "refused"))).step


@pytest.mark.proves("A20")
@on_a_loop
async def test_tasks_and_times_that_came_while_nobody_ran_are_carried_out_after_the_start(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(entity_fold, "TAKEOVER_S", 0.1)
    async with Callboard("sqlite:///./board", base=tmp_path) as board:
        await board.entities(Shelf).send("cup", Receive(pieces=9))
        orders = board.entities(Order, runs=False)
        await orders.send("order 1", Place(sku="cup", pieces=2, pay_within_s=0))
        assert (await orders.get("order 1")).state.stage is Stage.RESERVING
    async with Callboard("sqlite:///./board", base=tmp_path) as board:
        await state_when(board.entities(Order), "order 1", lambda its: its.stage is Stage.EXPIRED)
        shelf = (await board.entities(Shelf).get("cup")).state
        assert shelf is not None
        assert (shelf.pieces, shelf.free) == (9, 9)


@pytest.mark.proves("A19")
@on_a_loop
async def test_another_service_goes_on_with_what_one_has_begun(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(entity_fold, "TAKEOVER_S", 0.1)
    first, second = (Callboard("sqlite:///./board", base=tmp_path) for _ in range(2))
    async with first, second:
        await first.entities(Account).send("alice", Move(cents=5))
        others = second.entities(Transfers)
        await others.get("t")
        await first.entities(Transfers, runs=False).send("t", Transfer(source="alice", target="bob", cents=5))
        assert await end_of(others, "t") == "done"
        assert (await second.entities(Account).get("bob")).state == Account(cents=5)


@pytest.mark.proves("A18")
@on_a_loop
async def test_a_refused_task_stays_refused_whoever_sends_it_again(tmp_path: Path) -> None:
    async with Callboard("sqlite:///./board", base=tmp_path) as board:
        accounts, transfers = board.entities(Account), board.entities(Transfers)
        assert (await accounts.get("alice")).state is None
        await transfers.send("t", Transfer(source="alice", target="bob", cents=5))
        assert await end_of(transfers, "t") == "refused"
        (refused,) = [step async for step in board.replay(Account, "alice")]
        assert (refused.version, refused.code, refused.events) == (1, "overdrawn", ())
        await accounts.send("alice", Move(cents=5))
        again = await asker(board)(asked("alice", Move(cents=-5), refused.command_id))
        assert (again.refused, again.code, again.version, again.offset) == (True, "overdrawn", 1, refused.offset)
        assert (await accounts.get("alice")).state == Account(cents=5)


def asker(board: Callboard) -> Asker:
    return Asker(board.log, lambda _: TOPIC, board.context.agents.keeper_of)


def asked(key: str, command: Move, unique: str) -> AskEntity:
    its = EntityCommand(key=key, command_id=unique, command=sealed(command), is_final=True, searched=0)
    return AskEntity(Account, its)


def forget_soon(monkeypatch: pytest.MonkeyPatch) -> None:
    for module in (held, deciding, entity_table):
        monkeypatch.setattr(module, "WITHIN", 5)
    monkeypatch.setattr(held, "LAST", 2)


@pytest.mark.proves("A17")
@pytest.mark.parametrize(("cents", "refused"), [(-3, False), (-300, True)])
@on_a_loop
async def test_a_task_of_long_ago_is_not_carried_out_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, cents: int, refused: bool
) -> None:
    forget_soon(monkeypatch)
    async with Callboard("sqlite:///./board", base=tmp_path) as board:
        accounts = board.entities(Account)
        await accounts.send("alice", Move(cents=100))
        first = await asker(board)(asked("alice", Move(cents=cents), "task"))
        for _ in range(20):
            await accounts.send("alice", Move(cents=1000))
            await accounts.send("bob", Move(cents=1))
        before = await accounts.get("alice")
        again = await asker(board)(asked("alice", Move(cents=cents), "task"))
        assert (again.version, again.offset, again.refused) == (first.version, first.offset, refused)
        assert (await accounts.get("alice")).version == before.version
        new = await asker(board)(asked("alice", Move(cents=cents), "another task"))
        assert new.version == before.version + 1


@pytest.mark.proves("A17")
@on_a_loop
async def test_a_task_that_may_have_been_trimmed_is_not_carried_out(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    forget_soon(monkeypatch)
    async with Callboard("sqlite:///./board", base=tmp_path) as board:
        accounts = board.entities(Account)
        for _ in range(20):
            done = await accounts.send("alice", Move(cents=1))
        log_id = await board.log.identity(TOPIC)
        await board.log.trim(TOPIC, Retention(below_offset=done.offset, log_id=log_id))
        outcome = await asker(board)(asked("alice", Move(cents=1), "task"))
        assert not outcome.refused
        assert "the first records of" in outcome.problem
        assert (await accounts.get("alice")).version == done.version


@pytest.mark.proves("A28")
@on_a_loop
async def test_all_of_it_runs_in_processes_too(tmp_path: Path) -> None:
    into: Any = "sqlite:./read.db"
    async with Callboard("sqlite:///./board", base=tmp_path, runtime="processes") as board:
        accounts, transfers = board.entities(Account, snapshots=into), board.entities(Transfers, snapshots=into)
        balances, points = board.projection(Balances, into=into), board.reaction(Points, into=into)
        await asyncio.gather(balances.start(), points.start())
        await accounts.send("alice", Move(cents=5))
        await transfers.send("t", Transfer(source="alice", target="bob", cents=5))
        assert await end_of(transfers, "t") == "done"
        for each in (points, balances):
            await each.reached((await board.log.bounds(TOPIC)).end - 1, of=Account)
        assert await balances.get("bob") == Balance(cents=5, changes=1)
        assert await balances.get(POINTS) == Balance(cents=3, changes=3)
