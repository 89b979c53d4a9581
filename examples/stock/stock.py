"""Shelves with stock, and orders that reserve some of it until they are paid or their time is over."""

from collections.abc import Iterable, Sequence
from enum import IntEnum

from callboard import CommandRefused
from callboard.actors import (
    Answered,
    Ask,
    At,
    Entity,
    Event,
    Facts,
    Process,
    Projection,
    Reaction,
    Recorded,
    Task,
    event,
)

LOW = 5
"""A shelf with less than this is filled up."""

SECOND_NS = 1_000_000_000


# Shelves.


@event("stock.receive", version=1)
class Receive(Event):
    """Puts pieces on the shelf."""

    pieces: int


@event("stock.reserve", version=1)
class Reserve(Event):
    """Keeps pieces for an order."""

    order: str
    pieces: int


@event("stock.release", version=1)
class Release(Event):
    """Gives back what was kept for an order."""

    order: str


@event("stock.ship", version=1)
class Ship(Event):
    """Takes what was kept for an order off the shelf."""

    order: str


@event("stock.received", version=1)
class Received(Event):
    """Pieces were put on the shelf."""

    pieces: int


@event("stock.reserved", version=1)
class Reserved(Event):
    """Pieces are kept for an order."""

    order: str
    pieces: int


@event("stock.released", version=1)
class Released(Event):
    """Pieces are not kept any more."""

    order: str
    pieces: int


@event("stock.shipped", version=1)
class Shipped(Event):
    """Pieces have left. ``left`` is what is on the shelf and not kept for anybody."""

    order: str
    pieces: int
    left: int


@event("stock.shelf", version=1)
class Shelf(Entity):
    """What is on a shelf, and what of it is kept for orders."""

    pieces: int = 0
    received: int = 0
    shipped: int = 0
    reserved: tuple[Reserved, ...] = ()

    @property
    def free(self) -> int:
        """Pieces that are not kept for anybody."""
        return self.pieces - sum(each.pieces for each in self.reserved)

    def decide(self, command: Event, facts: Facts) -> Sequence[Event]:
        match command:
            case Receive(pieces=pieces) | Reserve(pieces=pieces) if pieces <= 0:
                raise CommandRefused("at least one piece", code="pieces")
            case Receive(pieces=pieces):
                return [Received(pieces=pieces)]
            case Reserve(order=order, pieces=pieces):
                if pieces > self.free:
                    raise CommandRefused(f"only {self.free} of {facts.key} are free", code="sold_out")
                return [Reserved(order=order, pieces=pieces)]
            case Release(order=order):
                return [Released(order=order, pieces=self._kept(order))]
            case Ship(order=order):
                pieces = self._kept(order)
                return [Shipped(order=order, pieces=pieces, left=self.free)]
        raise CommandRefused(f"a shelf does not know {type(command).__name__}", code="unknown")

    def _kept(self, order: str) -> int:
        kept = sum(each.pieces for each in self.reserved if each.order == order)
        if not kept:
            raise CommandRefused(f"nothing is kept for {order}", code="not_reserved")
        return kept

    def evolve(self, event: Event) -> "Shelf":
        pieces, received, shipped, reserved = self.pieces, self.received, self.shipped, self.reserved
        match event:
            case Received(pieces=more):
                pieces, received = pieces + more, received + more
            case Reserved():
                reserved = (*reserved, event)
            case Released(order=order):
                reserved = tuple(each for each in reserved if each.order != order)
            case Shipped(order=order, pieces=less):
                pieces, shipped = pieces - less, shipped + less
                reserved = tuple(each for each in reserved if each.order != order)
        return Shelf(pieces=pieces, received=received, shipped=shipped, reserved=reserved)


# Orders.


class Stage(IntEnum):
    """How far an order is."""

    NEW = 0
    RESERVING = 1
    RESERVED = 2
    SHIPPING = 3
    SHIPPED = 4
    RELEASING = 5
    EXPIRED = 6
    SOLD_OUT = 7


@event("stock.place", version=1)
class Place(Event):
    """Orders pieces, to be paid within some seconds."""

    sku: str
    pieces: int
    pay_within_s: int


@event("stock.pay", version=1)
class Pay(Event):
    """Pays an order."""


@event("stock.expire", version=1)
class Expire(Event):
    """The time to pay is over."""


@event("stock.placed", version=1)
class Placed(Event):
    """The order was placed, and is to be paid until ``pay_until_ns``."""

    sku: str
    pieces: int
    pay_until_ns: int


@event("stock.went_on", version=1)
class WentOn(Event):
    """The order has come to another stage."""

    stage: Stage


@event("stock.order", version=1)
class Order(Process):
    """An order: pieces are reserved, and shipped once they are paid; or released when the time to pay is over."""

    sku: str = ""
    pieces: int = 0
    pay_until_ns: int = 0
    stage: Stage = Stage.NEW

    def decide(self, command: Event, facts: Facts) -> Sequence[Event]:
        match command, self.stage:
            case Place(pieces=pieces), Stage.NEW if pieces <= 0:
                raise CommandRefused("order at least one piece", code="pieces")
            case Place(sku=sku, pieces=pieces, pay_within_s=seconds), Stage.NEW:
                return [Placed(sku=sku, pieces=pieces, pay_until_ns=facts.now_ns + seconds * SECOND_NS)]
            case Place(), _:
                return []
            case Answered(task="reserve", code=""), Stage.RESERVING:
                return [WentOn(stage=Stage.RESERVED)]
            case Answered(task="reserve"), Stage.RESERVING:
                return [WentOn(stage=Stage.SOLD_OUT)]
            case Pay(), Stage.RESERVED:
                return [WentOn(stage=Stage.SHIPPING)]
            case Pay(), Stage.SHIPPING | Stage.SHIPPED:
                return []
            case Pay(), _:
                raise CommandRefused(f"{facts.key} cannot be paid: it is {self.stage.name}", code="not_payable")
            case Expire(), Stage.RESERVED:
                return [WentOn(stage=Stage.RELEASING)]
            case Expire(), _:
                return []
            case Answered(task="ship"), Stage.SHIPPING:
                return [WentOn(stage=Stage.SHIPPED)]
            case Answered(task="release"), Stage.RELEASING:
                return [WentOn(stage=Stage.EXPIRED)]
        raise CommandRefused(f"an order does not know {type(command).__name__}", code="unknown")

    def evolve(self, event: Event) -> "Order":
        match event:
            case Placed(sku=sku, pieces=pieces, pay_until_ns=until_ns):
                return Order(sku=sku, pieces=pieces, pay_until_ns=until_ns, stage=Stage.RESERVING)
            case WentOn(stage=stage):
                return Order(sku=self.sku, pieces=self.pieces, pay_until_ns=self.pay_until_ns, stage=stage)
        raise TypeError(f"an order has no {type(event).__name__}")

    def todo(self, key: str) -> Sequence[Task]:
        match self.stage:
            case Stage.RESERVING:
                return [Ask("reserve", Shelf, self.sku, Reserve(order=key, pieces=self.pieces))]
            case Stage.RESERVED:
                return [At("expire", self.pay_until_ns, Expire())]
            case Stage.SHIPPING:
                return [Ask("ship", Shelf, self.sku, Ship(order=key))]
            case Stage.RELEASING:
                return [Ask("release", Shelf, self.sku, Release(order=key))]
        return []


# Shelves that are nearly empty.


class FillUp(Reaction):
    """Puts more on a shelf when too little is left."""

    name = "fill up"
    sources = (Shelf,)

    def react(self, recorded: Recorded) -> Iterable[Ask]:
        match recorded.event:
            case Shipped(left=left) if left < LOW:
                return [Ask("fill up", Shelf, recorded.key, Receive(pieces=LOW))]
        return []


# What people look at.


@event("stock.availability", version=1)
class Availability(Event):
    """A row: what is on a shelf."""

    pieces: int = 0
    reserved: int = 0
    shipped: int = 0


class Availabilities(Projection[Availability]):
    """The table ``stock_availability``."""

    sources = (Shelf,)

    def evolve(self, key: str, row: Availability | None, recorded: Recorded) -> Availability:
        its = row or Availability()
        pieces, reserved, shipped = its.pieces, its.reserved, its.shipped
        match recorded.event:
            case Received(pieces=more):
                pieces += more
            case Reserved(pieces=more):
                reserved += more
            case Released(pieces=less):
                reserved -= less
            case Shipped(pieces=less):
                pieces, reserved, shipped = pieces - less, reserved - less, shipped + less
        return Availability(pieces=pieces, reserved=reserved, shipped=shipped)
