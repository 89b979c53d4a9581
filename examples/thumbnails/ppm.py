"""Pictures in the simplest format there is, binary PPM: a head, then red, green and blue of each point."""

from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

HEAD_BYTES = 100


class NotComplete(Exception):
    """The file is shorter than its head says: somebody is still writing it."""


class Picture(NamedTuple):
    """The points of a picture, row by row."""

    width: int
    height: int
    points: bytes

    def row(self, number: int) -> bytes:
        """The points of one row."""
        return self.points[3 * self.width * number : 3 * self.width * (number + 1)]


def read(file: Path) -> Picture:
    """Read a picture. Raises ``ValueError`` if it is none, ``NotComplete`` if it is not all there."""
    content = file.read_bytes()
    magic, width, height, most, *_ = content[:HEAD_BYTES].split() + [b""] * 4
    if magic != b"P6" or most != b"255":
        raise ValueError(f"{file.name} is no picture of the sort P6 255")
    size = 3 * int(width) * int(height)
    head = content.index(b"255") + len(b"255\n")
    if len(content) < head + size:
        raise NotComplete(f"{file.name} has {len(content) - head} bytes of {size}")
    return Picture(int(width), int(height), content[head : head + size])


def write(file: Path, picture: Picture) -> None:
    """Write a picture in one step: others find all of it, or what was there before."""
    new = file.with_suffix(".new")
    new.write_bytes(b"P6\n%d %d\n255\n" % (picture.width, picture.height) + picture.points)
    new.replace(file)


def smaller(picture: Picture, width: int, tell: Callable[[int], object]) -> Picture:
    """The picture in about this width; ``tell`` is called with the number of rows that are done since it was last."""
    step = max(1, picture.width // width)
    rows = []
    for number in range(0, picture.height, step):
        row = picture.row(number)
        rows.append(b"".join(row[3 * each : 3 * each + 3] for each in range(0, picture.width, step)))
        tell(step)
    return Picture(len(rows[0]) // 3, len(rows), b"".join(rows))
