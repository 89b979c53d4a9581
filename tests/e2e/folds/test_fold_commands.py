"""Entities, projections and reactions at the command line: how far they are, and how they came to be; and as people
mistype it.
"""

import asyncio
import re
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from callboard import Callboard
from callboard.messages.entities.entity_messages import DeclaredEvent, EntityCommitMessage
from callboard.messages.headers import new_record
from tests.e2e.conftest import DEADLINE_S, Terminal

BANK = Path(__file__).resolve().parents[3] / "examples" / "bank" / "bank.py"

SERVICE = """
import asyncio
import sys

from callboard import Callboard

from bank import Account, Balances, Deposit, Moved, Transfer, TransferOrder


class Picky(Balances):
    def evolve(self, key, row, recorded):
        match recorded.event:
            case Moved(cents=13):
                raise ValueError("no thirteen")
        return super().evolve(key, row, recorded)


async def main():
    async with Callboard("sqlite:///./board.db") as board:
        accounts, transfers = board.entities(Account), board.entities(Transfer)
        projection = board.projection(Picky, into="sqlite:rows.db")
        await projection.start()
        await accounts.send("alice", Deposit(cents=500))
        await accounts.send("bob", Deposit(cents=5))
        await transfers.send("t1", TransferOrder(source="alice", target="bob", cents=100))
        while (await transfers.get("t1")).version < 3:
            await asyncio.sleep(0.01)
        while len(rows := await board.folds()) < 3 or any(row.state != "live" for row in rows):
            await asyncio.sleep(0.05)
        for line in iter(sys.stdin.readline, ""):
            await accounts.send("alice", Deposit(cents=int(line)))
            while (await projection.status()).state != "stopped" and line.strip() == "13":
                await asyncio.sleep(0.01)
            while line.strip() == "13" and not any(row.state == "stopped" for row in await board.folds()):
                await asyncio.sleep(0.05)
            print("done", flush=True)


asyncio.run(main())
"""


@pytest.fixture
def bank(terminal: Terminal) -> Terminal:
    (terminal.folder / "bank.py").write_text(BANK.read_text())
    (terminal.folder / "service.py").write_text(SERVICE)
    return terminal


@contextmanager
def service(terminal: Terminal) -> Iterator[Callable[[int], None]]:
    """The service, which deposits what it is given."""
    command = [sys.executable, "service.py"]
    with subprocess.Popen(
        command, cwd=terminal.folder, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as process:  # fmt: skip
        assert process.stdin is not None
        assert process.stdout is not None

        def deposit(cents: int) -> None:
            assert process.stdin is not None
            assert process.stdout is not None
            process.stdin.write(f"{cents}\n")
            process.stdin.flush()
            assert process.stdout.readline() == "done\n"

        try:
            deposit(1)
            yield deposit
        finally:
            process.stdin.close()
            assert process.wait(DEADLINE_S) == 0


def folds(terminal: Terminal) -> dict[str, Any]:
    return {row["name"]: row for row in terminal.json("status")["folds"]}


def words(text: str) -> str:
    """The text with single spaces."""
    return " ".join(text.split())


@pytest.mark.proves("A29")
def test_status_doctor_and_metrics_show_how_far_a_service_is(bank: Terminal) -> None:
    with service(bank) as deposit:
        found = folds(bank)
        assert {name: (row["kind"], row["state"]) for name, row in found.items()} == {
            "bank.account": ("entities", "live"), "bank.transfer": ("process", "live"),
            "bank.balance": ("projection", "live"),
        }  # fmt: skip
        assert found["bank.account"]["held"] == 2
        assert list(found["bank.account"]["behind"]) == ["callboard.entity.bank.account"]
        shown = words(bank.out("status"))
        assert "KIND NAME ON STATE BEHIND HELD ACTIVE SEEN WRONG" in shown
        assert "entities bank.account" in shown
        assert "KIND NAME" not in words(bank.out("status", "--needs"))
        assert "folds that run: 3" in words(bank.out("doctor"))
        assert "callboard_fold_stopped{" in bank.out("metrics")

        deposit(13)
        assert folds(bank)["bank.balance"]["state"] == "stopped"
        assert "stopped" in words(bank.out("status", "--needs"))
        said = words(bank.run("doctor", code=1).stdout)
        assert "is stopped: the event at offset" in said
        assert "cannot be folded: ValueError: no thirteen" in said
        lines = bank.out("metrics").splitlines()
        [line] = [each for each in lines if each.startswith("callboard_fold_stopped{") and "bank.balance" in each]
        assert line.endswith(" 1.0")
    assert folds(bank) == {}
    assert "KIND" not in bank.out("status")
    assert "callboard_fold" not in bank.out("metrics")


@pytest.mark.proves("A29")
def test_the_history_of_an_entity_a_process_and_a_row_is_shown(bank: Terminal) -> None:
    with service(bank):
        pass
    alice = bank.json("replay", "bank:Account", "alice")
    assert [step["state"]["fields"]["cents"] for step in alice["steps"]] == [500, 400, 401]
    assert (alice["key"], alice["left_out"], alice["problem"]) == ("alice", 0, "")
    assert alice["steps"][1]["events"] == [{"name": "bank.moved", "fields": {"cents": -100, "cash": False}}]
    shown = words(bank.out("replay", "bank:Account", "alice"))
    assert "OFFSET AGE VERSION COMMAND EVENTS STATE" in shown
    assert "Moved(cents=-100, cash=False) Account(cents=400, paid_in=500, closed=False)" in shown
    assert "TASKS" not in shown

    offsets = [step["offset"] for step in alice["steps"]]
    upto = bank.json("replay", "bank:Account", "alice", "--to", str(offsets[1]))["steps"]
    since = bank.json("replay", "bank:Account", "alice", "--from", str(offsets[1]))["steps"]
    assert (upto, since) == (alice["steps"][:2], alice["steps"][1:])
    last = bank.json("replay", "bank:Account", "alice", "--limit", "1")
    assert (last["steps"], last["left_out"]) == (alice["steps"][-1:], 2)
    assert "2 steps before these; --limit shows more" in bank.out("replay", "bank:Account", "alice", "--limit", "1")
    assert "nothing in this range" in bank.out("replay", "bank:Account", "alice", "--from", "999")

    assert "take: Take(cents=100) to Account alice" in words(bank.out("replay", "bank:Transfer", "t1"))
    rows = bank.json("replay", "bank:Balances", "bob")["steps"]
    assert [row["state"]["fields"] for row in rows] == [
        {"cents": 5, "changes": 1, "closed": False}, {"cents": 105, "changes": 2, "closed": False},
    ]  # fmt: skip
    assert "OFFSET AGE KEY EVENT ROW" in words(bank.out("replay", "bank:Balances", "bob"))


def test_what_is_mistyped_is_refused_with_what_may_be_meant(bank: Terminal) -> None:
    with service(bank):
        pass
    for given, said in (
        (("bank:Account", "alise"), "there is no Account 'alise' on this log, among 2; did you mean 'alice'?"),
        (("bank:Account", "alice", "--to", "0"), "there is no Account 'alice' on this log up to offset 0, among 0"),
        (("bank:Balances", "bop"), "there is no row of Balances 'bop' on this log, among 2; did you mean 'bob'?"),
        (("bank:Acount", "alice"), "module 'bank' has no attribute 'Acount'"),
        (("bnak:Account", "alice"), "No module named 'bnak'"),
        (("bank", "alice"), "write it as module:name"),
        (("bank:Deposit", "alice"), "has no state to replay; name a class of Entity, Process or Projection"),
        (("bank:Account", ""), "key is '', but should be a text of 1 to 2000 bytes of UTF-8"),
        (("bank:Account",), "Missing argument 'KEY'"),
        (("bank:Account", "alice", "--to", "x"), "Invalid value for '--to'"),
        (("bank:Account", "alice", "--from", "-1"), "Invalid value for '--from'"),
        (("bank:Account", "alice", "--limit", "0"), "Invalid value for '--limit'"),
    ):
        assert said in words(bank.refused("replay", *given)), given
    assert "did you mean" in words(bank.refused("reply", "bank:Account", "alice")).lower()
    (bank.folder / "broken.py").write_text("1 / 0\n")
    assert "ZeroDivisionError" in bank.refused("replay", "broken:Account", "alice")


def test_what_comes_before_an_unreadable_event_is_shown(bank: Terminal) -> None:
    async def append() -> None:
        moved = DeclaredEvent(name="bank.moved", version=1, payload=b"\x08\x05")
        newer = DeclaredEvent(name="bank.moved", version=7)
        async with Callboard("sqlite:///./board.db", base=bank.folder) as board:
            topic = "callboard.entity.bank.account"
            await board.log.ensure(topic)
            for number, event in enumerate((moved, newer, moved)):
                commit = EntityCommitMessage(
                    key="alice", commit_id=number + 1, previous=number, version=number, command_id=f"c{number}",
                    events=(event,),
                )  # fmt: skip
                await board.log.append(topic, [new_record(commit, record_id="r", time_ns=1, producer="p")])

    asyncio.run(append())
    done = bank.run("replay", "bank:Account", "alice", code=1)
    assert "Account(cents=5, paid_in=0, closed=False)" in words(done.stdout)
    assert "the next event cannot be replayed: its commit at offset 2 cannot be applied" in words(done.stderr)
    assert "has version 7, and this process knows 1" in words(done.stderr)
    data = bank.json("replay", "bank:Account", "alice", code=1)
    assert len(data["steps"]) == 1
    assert "has version 7" in data["problem"]


def test_the_program_of_the_document_shows_the_history(bank: Terminal) -> None:
    with service(bank):
        pass
    page = (BANK.parents[2] / "docs" / "folds.md").read_text(encoding="utf-8")
    (name, program), *others = re.findall(r"^```python file=(\S+)\n(.*?)^```$", page, re.MULTILINE | re.DOTALL)
    assert not others
    (bank.folder / name).write_text(program)
    done = subprocess.run(
        [sys.executable, name], cwd=bank.folder, capture_output=True, text=True, timeout=DEADLINE_S, check=True
    )
    assert len(done.stdout.splitlines()) == 3
    assert "Account(cents=400, paid_in=500, closed=False)" in done.stdout
