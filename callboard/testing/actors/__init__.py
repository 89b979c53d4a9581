"""For the tests of services that have actors of their own."""

from callboard.testing.actors.golden_bytes import assert_golden, golden

__all__ = ["assert_golden", "golden"]
