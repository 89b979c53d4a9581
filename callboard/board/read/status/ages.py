"""How old what is shown is."""


def age_s(then_ns: int, now_ns: int) -> float:
    """Seconds since then, limited to a valid range: clocks differ, so it could be negative, or too large."""
    return max(0.0, (now_ns - then_ns) / 1e9) if then_ns > 0 else 0.0
