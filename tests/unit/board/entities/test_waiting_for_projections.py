"""Projections of a board, as a service waits for them."""

# ruff: noqa: ASYNC110  # what another board does can only be polled

import asyncio
from pathlib import Path

from callboard import Callboard
from callboard.actors import Ask, Event, Projection, Reaction, Recorded, event
from tests.unit.actors.entities.bank import Account, Move, Moved

SOON_S = 5.0
"""Half the time that a reader waits for the first record of an empty topic."""


@event("test_waiting.balance", version=1)
class Balance(Event):
    """A row."""

    cents: int = 0


DEADLINE_S = 60.0

OFTEN_S = 0.05
"""A quarter of the time between two looks of a projection on standby, while somebody waits for it."""


class Balances(Projection[Balance]):
    """The sum of what was moved."""

    sources = (Account,)

    def evolve(self, key: str, row: Balance | None, recorded: Recorded) -> Balance:
        """See ``Projection``."""
        assert isinstance(recorded.event, Moved)
        return Balance(cents=(row.cents if row else 0) + recorded.event.cents)


def test_there_is_nothing_to_wait_for_while_the_topic_is_empty(tmp_path: Path) -> None:
    async def main() -> None:
        async with Callboard("memory:", base=tmp_path) as board:
            balances = board.projection(Balances, into="sqlite:tables.db")
            await balances.reached(-1, Account, timeout_s=SOON_S)

    asyncio.run(main())


def test_who_waits_for_an_offset_finds_it_in_the_rows(tmp_path: Path) -> None:
    async def main() -> None:
        async with Callboard("memory:", base=tmp_path) as board:
            balances, accounts = board.projection(Balances, into="sqlite:tables.db"), board.entities(Account)
            for cents in range(1, 5):
                done = await accounts.send("alice", Move(cents=1))
                await balances.reached(done.offset, Account)
                assert await balances.get("alice") == Balance(cents=cents)

    asyncio.run(main())


def test_who_asks_often_does_not_keep_a_projection_from_taking_over(tmp_path: Path) -> None:
    async def main() -> None:
        boards = [Callboard("sqlite:///./log", base=tmp_path) for _ in range(2)]
        async with boards[0], boards[1], asyncio.timeout(DEADLINE_S):
            balances = [each.projection(Balances, into="sqlite:tables.db") for each in boards]
            while True:
                await boards[0].entities(Account).send("alice", Move(cents=1))
                states = [(await each.status()).state for each in balances]
                if "standby" in states:
                    break
            place = states.index("standby")
            await boards[1 - place].close()
            while (await balances[place].status()).state != "live":
                await asyncio.sleep(OFTEN_S)

    asyncio.run(main())


class Mirror(Reaction):
    """Of the same name as the rows."""

    name = "test_waiting.balance"
    sources = (Account,)

    def react(self, recorded: Recorded) -> list[Ask]:
        """See ``Reaction``."""
        return [Ask("mirror", Account, "bob", Move(cents=1))] if recorded.key == "alice" else []


def test_what_has_the_same_name_is_another_table_in_another_place_and_another_thing_as_a_reaction(
    tmp_path: Path,
) -> None:
    async def main() -> None:
        async with Callboard("memory:", base=tmp_path) as board:
            places = [f"sqlite:{number}.db" for number in range(2)]
            tables = [board.projection(Balances, into=place) for place in places]
            mirror = board.reaction(Mirror, into=places[0])
            done = await board.entities(Account).send("alice", Move(cents=1))
            for each in (*tables, mirror):
                await each.reached(done.offset, Account)
            assert [await each.get("alice") for each in tables] == [Balance(cents=1)] * 2
            assert (await board.entities(Account).get("bob")).state == Account(cents=1)

    asyncio.run(main())
