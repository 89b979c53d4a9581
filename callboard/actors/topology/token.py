"""The fencing token of a leader."""

from callboard.backends.fence import Token

__all__ = ["Token"]
