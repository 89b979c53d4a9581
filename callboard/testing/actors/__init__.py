"""For the tests of services that have actors of their own; see docs/actors.md."""

from callboard.testing.actors.conformance import check_entity
from callboard.testing.actors.given import given
from callboard.testing.actors.golden_bytes import assert_golden, golden
from callboard.testing.actors.projected import asks_of, check_projection, rows_of
from callboard.testing.actors.simulation.simulate import simulate
from callboard.testing.actors.simulation.view import View

__all__ = [
    "View",
    "asks_of",
    "assert_golden",
    "check_entity",
    "check_projection",
    "given",
    "golden",
    "rows_of",
    "simulate",
]
