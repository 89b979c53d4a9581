"""Events of a bank, as a service declares them."""

from enum import IntEnum

from callboard.actors import Event, Question, event


class Side(IntEnum):
    """A number other than 0 comes first."""

    DEBIT = 1
    CREDIT = 2


@event("till.money", version=1)
class Money(Event):
    cents: int = 0
    currency: str = "EUR"


@event("till.deposited", version=3)
class Deposited(Event):
    account: str
    money: Money
    note: str = ""


@event("till.deposited", version=1)
class DepositedV1(Event):
    account: str
    euros: int

    def upcast(self) -> Event:
        return DepositedV2(account=self.account, cents=100 * self.euros)


@event("till.deposited", version=2)
class DepositedV2(Event):
    account: str
    cents: int
    note: str = ""

    def upcast(self) -> Event:
        return Deposited(account=self.account, money=Money(cents=self.cents), note=self.note)


@event("till.booked", version=1)
class Booked(Event):
    """One field of every type."""

    number: int
    text: str
    data: bytes
    truth: bool
    real: float
    side: Side
    money: Money
    fee: Money | None = None
    numbers: tuple[int, ...] = ()
    texts: tuple[str, ...] = ()
    datas: tuple[bytes, ...] = ()
    truths: tuple[bool, ...] = ()
    reals: tuple[float, ...] = ()
    sides: tuple[Side, ...] = ()
    moneys: tuple[Money, ...] = ()
    usual: int = -1
    other: Side = Side.CREDIT


@event("till.balance", version=1)
class Balance(Event):
    cents: int


@event("till.balance_query", version=1)
class BalanceQuery(Question[Balance]):
    account: str

    def __str__(self) -> str:
        return super().__str__().replace("BalanceQuery", "balance of")
