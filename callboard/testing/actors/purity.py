"""Notices when code that must be pure asks for the time, for randomness, or for a file."""

import gc
import os
import random
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import date, datetime
from types import FrameType
from typing import Any

IMPURE = {
    time.time: "time.time", time.time_ns: "time.time_ns", time.monotonic: "time.monotonic",
    time.monotonic_ns: "time.monotonic_ns", time.perf_counter: "time.perf_counter",
    time.perf_counter_ns: "time.perf_counter_ns", time.localtime: "time.localtime", time.gmtime: "time.gmtime",
    time.sleep: "time.sleep", datetime.now: "datetime.now", datetime.utcnow: "datetime.utcnow",
    datetime.today: "datetime.today", date.today: "date.today", os.urandom: "os.urandom",
    random.random: "random.random", random.getrandbits: "random.getrandbits", open: "open",
}  # fmt: skip
"""Functions of C. Others end in these: ``uuid4`` and ``secrets`` in ``os.urandom``, ``randint`` in ``getrandbits``."""


@contextmanager
def watched() -> Iterator[list[str]]:
    """The names of the impure functions that are called inside. None are noticed while the process is profiled."""
    found: list[str] = []

    def watch(_: FrameType, happened: str, function: Any) -> None:
        if happened == "c_call" and function in IMPURE:
            found.append(IMPURE[function])

    if sys.getprofile() is not None:
        yield found
        return
    collects = gc.isenabled()
    gc.disable()  # others have code that runs when the garbage collector does, and may take the time
    sys.setprofile(watch)
    try:
        yield found
    finally:
        sys.setprofile(None)
        if collects:
            gc.enable()
