"""The hook of the canary: a release whose model is not good enough is refused, there and everywhere."""

from pathlib import Path

import spam

from callboard import HookCall, Kind

ENOUGH = 0.9


def accept(call: HookCall) -> None:
    """Try the model, which was imported before, and raise if it is not good enough."""
    if call.publisher != "releases" or call.kind is not Kind.ADD:
        return
    model = dict(call.metadata)["model"]
    found = spam.accuracy(spam.load(Path(call.into) / "models" / f"{model}.json"))
    if found < ENOUGH:
        raise ValueError(f"{model} is right in {found:.0%} of the samples, and should be in {ENOUGH:.0%}")
