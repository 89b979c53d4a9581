"""The examples, as they are simulated."""

import sys
from collections import Counter
from pathlib import Path
from typing import Any

from callboard.testing.actors import simulate
from examples.bank import bank
from examples.stock import stock

sys.modules |= {"bank": bank, "stock": stock}  # what runs in the folder of an example imports them by these names

from examples.bank import survival as bank_survival  # noqa: E402
from examples.stock import survival as stock_survival  # noqa: E402

EXAMPLES = Path(__file__).resolve().parents[2] / "examples"

WORLDS: dict[str, dict[str, Any]] = {
    "bank": {
        "entities": [bank.Account, bank.Transfer],
        "projections": [bank.Balances],
        "story": bank_survival.story,
        "invariant": bank_survival.invariant,
    },
    "stock": {
        "entities": [stock.Shelf, stock.Order],
        "projections": [stock.Availabilities],
        "reactions": [stock.FillUp],
        "story": stock_survival.story,
        "invariant": stock_survival.invariant,
    },
}


def told(world: str, seed: int) -> str:
    """The failure of a seed; nothing if there is none."""
    try:
        simulate(**WORLDS[world], seed=seed)
    except AssertionError as error:
        return str(error)
    return ""


def counted(world: str, seeds: int) -> Counter[str]:
    """What happens in these seeds."""
    return simulate(**WORLDS[world], seeds=seeds)
