"""The gates of a subscriber, in the order in which they are asked."""

from callboard.actors.subscriber.gates.gate import Gate
from callboard.actors.subscriber.gates.pacing import PauseGate, ThrottleGate
from callboard.actors.subscriber.hooks.hooks_due import Room
from callboard.actors.subscriber.staging.golden_gate import GoldenGate


def gates(golden: GoldenGate | None) -> tuple[Gate, ...]:
    """Every condition that a package must pass, besides being for this subscriber and not being cleared.

    The gate that counts what passes is the last, so that no package is counted that another gate holds up.
    """
    return (PauseGate(), *([golden] if golden else []), Room(), ThrottleGate())
