"""What a service of its own has on the board: jobs, and accounts; it says which environment did the work.

``service.py CENTS`` pays into the account of alice, and says what she has then.
"""

import asyncio
import sys
from collections.abc import Sequence

from callboard import Callboard, JobRegistry
from callboard.actors import Entity, Event, Facts, event

jobs = JobRegistry()


@jobs.job("for-old")
@jobs.job("for-new")
def worked_in(payload: None) -> str:
    return sys.prefix


@event("test_release.deposit", version=1)
class Deposit(Event):
    cents: int


@event("test_release.account", version=1)
class Account(Entity):
    cents: int = 0

    def decide(self, command: Event, facts: Facts) -> Sequence[Event]:
        return (command,)

    def evolve(self, event: Event) -> "Account":
        assert isinstance(event, Deposit)
        return Account(cents=self.cents + event.cents)


async def main(cents: int) -> None:
    async with Callboard.from_config() as board:
        accounts = board.entities(Account)
        done = await accounts.send("alice", Deposit(cents=cents))
        account = await accounts.get("alice", after=done.offset)
        assert account.state is not None
        sys.stdout.write(f"{account.state.cents}\n")


if __name__ == "__main__":
    asyncio.run(main(int(sys.argv[1])))
