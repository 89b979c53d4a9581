"""What one test may cost: processor time, its own and that of the processes it waited for.

Time on the clock would be that of the machine's other work; what hangs is ended by ``timeout`` in pyproject.toml.
"""

import os
from collections.abc import Generator

import pytest

CPU_S_MAX = 60.0
"""More than twice what the most expensive test takes, for slower machines."""


_spent_elsewhere: list[float] = []


def spend(cpu_s: float) -> None:
    """Count the processor time of a process that this one could not wait for, because it is not its child."""
    _spent_elsewhere.append(cpu_s)


def spent_s() -> float:
    """Processor time of this process, of the children it has waited for, and of what was counted by ``spend``."""
    return sum(os.times()[:4]) + sum(_spent_elsewhere)


class Budget:
    """Fails a test that took more than its share. A plugin of pytest, in every run but those of ``make nightly``."""

    def __init__(self, cpu_s_max: float = CPU_S_MAX) -> None:
        self._max = cpu_s_max

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_call(self) -> Generator[None, None, None]:
        before = spent_s()
        yield
        if (spent := spent_s() - before) > self._max:
            pytest.fail(
                f"this test took {spent:.0f} s of processor time, {self._max:g} at most; do less here, and the rest "
                "with CALLBOARD_LONG in make nightly", pytrace=False,
            )  # fmt: skip
