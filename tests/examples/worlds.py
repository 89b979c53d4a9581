"""The examples, as they are simulated: each module is imported from its folder, as its users do it."""

import importlib
import sys
from collections import Counter
from pathlib import Path
from types import ModuleType
from typing import Any

from callboard.testing.actors import simulate

EXAMPLES = Path(__file__).resolve().parents[2] / "examples"


def imported(example: str, module: str) -> ModuleType:
    """A module of an example. All examples have modules of the same names, so each gets its own."""
    folder = str(EXAMPLES / example)
    sys.path.insert(0, folder)
    try:
        its = importlib.import_module(module)
    finally:
        sys.path.remove(folder)
    return its


bank = imported("bank", "bank")
bank_survival = imported("bank", "survival")
del sys.modules["survival"]
stock = imported("stock", "stock")
stock_survival = imported("stock", "survival")
del sys.modules["survival"]

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
