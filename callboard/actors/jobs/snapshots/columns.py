"""Columns of numbers as bytes. Bytes of the same weight are put together, which compresses well and fast."""

from array import array
from sys import byteorder

from callboard.errors import Undecodable


def pack(column: "array[int]") -> bytes:
    """The column's bytes: the lowest ones of all numbers, then the second ones, and so on."""
    raw, size = column.tobytes(), column.itemsize
    return b"".join(raw[place::size] for place in _places(size))


def unpack(typecode: str, packed: bytes) -> "array[int]":
    """The column. Raises ``Undecodable``."""
    column = array(typecode)
    many, rest = divmod(len(packed), column.itemsize)
    if rest:
        raise Undecodable(f"{len(packed)} bytes are no column of numbers of {column.itemsize}")
    raw = bytearray(len(packed))
    for number, place in enumerate(_places(column.itemsize)):
        raw[place :: column.itemsize] = packed[number * many : (number + 1) * many]
    column.frombytes(raw)
    return column


def _places(size: int) -> range:
    return range(size) if byteorder == "little" else range(size)[::-1]
