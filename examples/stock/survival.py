"""What is simulated: customers who order, and pay or do not pay, and what must always be true."""

from collections.abc import Iterator
from random import Random

from stock import Availabilities, Order, Pay, Place, Receive, Shelf, Stage

from callboard.actors import Entity, Event
from callboard.testing.actors import View

SKUS = ("cup", "plate")
ENDED = (Stage.SHIPPED, Stage.EXPIRED, Stage.SOLD_OUT)


def story(random: Random) -> Iterator[tuple[type[Entity], str, Event]]:
    """Commands of one seed."""
    for sku in SKUS:
        yield Shelf, sku, Receive(pieces=random.randint(1, 12))
    orders = [f"order {number}" for number in range(12)]
    for number, order in enumerate(orders):
        pieces = random.randint(1, 4)
        yield Order, order, Place(sku=random.choice(SKUS), pieces=pieces, pay_within_s=random.choice((1, 10, 600)))
        if random.random() < 0.6:
            yield Order, random.choice(orders[: number + 1]), Pay()


def invariant(view: View) -> None:
    """Nothing is sold twice, and in the end nothing is kept for an order that is over."""
    shelves, orders = view.states(Shelf), view.states(Order)
    for sku, shelf in shelves.items():
        assert shelf.free >= 0, f"more of {sku} is promised than there is"
        assert shelf.pieces + shelf.shipped == shelf.received, f"pieces of {sku} are lost or made"
    shipped = sum(each.pieces for each in orders.values() if each.stage is Stage.SHIPPED)
    assert shipped <= sum(each.shipped for each in shelves.values()), "an order is shipped that did not leave"
    if view.ended:
        assert shipped == sum(each.shipped for each in shelves.values()), "pieces left that nobody had ordered"
        assert all(each.stage in ENDED for each in orders.values()), "an order has not ended"
        assert not any(each.reserved for each in shelves.values()), "pieces are kept for ever"
        rows = {sku: (row.pieces, row.shipped, row.reserved) for sku, row in view.rows(Availabilities).items()}
        assert rows == {sku: (each.pieces, each.shipped, 0) for sku, each in shelves.items()}, "the table is wrong"
