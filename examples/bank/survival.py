"""What is simulated: customers who pay in, transfer and close, and what must always be true."""

from collections.abc import Iterator
from random import Random

from bank import Account, Balances, Close, Deposit, Phase, Transfer, TransferOrder

from callboard.actors import Entity, Event
from callboard.testing.actors import View

ACCOUNTS = ("alice", "bob", "carol")


def story(random: Random) -> Iterator[tuple[type[Entity], str, Event]]:
    """Commands of one seed."""
    for name in ACCOUNTS:
        yield Account, name, Deposit(cents=random.randint(100, 1000))
    for number in range(20):
        match random.randint(0, 19):
            case 0:
                yield Account, random.choice(ACCOUNTS), Close()
            case 1 | 2:
                yield Account, random.choice(ACCOUNTS), Deposit(cents=random.randint(-5, 500))
            case _:
                source, target = random.choices(ACCOUNTS, k=2)
                order = TransferOrder(source=source, target=target, cents=random.randint(1, 600))
                yield Transfer, f"transfer {number}", order


def invariant(view: View) -> None:
    """No money is made at any time, and none is lost in the end."""
    accounts = view.states(Account)
    assert all(each.cents >= 0 for each in accounts.values()), "an account is overdrawn"
    has, paid_in = sum(each.cents for each in accounts.values()), sum(each.paid_in for each in accounts.values())
    assert has <= paid_in, f"{has - paid_in} cents were made"
    if view.ended:
        assert has == paid_in, f"{paid_in - has} cents were lost"
        for key, transfer in view.states(Transfer).items():
            assert transfer.phase in (Phase.DONE, Phase.FAILED), f"{key} has not ended"
        rows = {key: (row.cents, row.closed) for key, row in view.rows(Balances).items()}
        assert rows == {key: (each.cents, each.closed) for key, each in accounts.items()}, "the table is wrong"
