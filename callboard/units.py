"""How durations, sizes and numbers are written for people."""


def age(seconds: float) -> str:
    """A duration for people: ``3 s``, ``2 min``, ``5 h``, ``12 d``; never below 0, since clocks differ."""
    seconds = max(0.0, seconds)
    for unit, length, limit in (("s", 1, 120), ("min", 60, 7200), ("h", 3600, 172_800)):
        if seconds < limit:
            return f"{seconds / length:.0f} {unit}"
    return f"{seconds / 86_400:.0f} d"


def size(length: float) -> str:
    """A number of bytes for people: ``138 B``, ``4.2 MB``."""
    for unit in ("B", "kB", "MB", "GB"):
        if length < 1000:
            return f"{length:.0f} {unit}" if unit == "B" or length >= 100 else f"{length:.1f} {unit}"
        length /= 1000
    return f"{length:.1f} TB"


def count(number: int, noun: str) -> str:
    """The number and the noun: ``1 package``, ``3 packages``, ``2 entries``."""
    plural = noun[:-1] + "ies" if noun.endswith("ry") else noun + "s"
    return f"{number} {noun if number == 1 else plural}"
