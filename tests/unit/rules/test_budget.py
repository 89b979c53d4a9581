"""A test that takes too long fails, by the processor time that it took and not by the clock."""

import subprocess
import sys
import time

import pytest

from tests.budget import Budget, spent_s


def test_a_test_above_its_share_of_processor_time_fails():
    call = Budget(0.05).pytest_runtest_call()
    next(call)
    start = time.process_time()
    while time.process_time() < start + 0.1:
        pass
    with pytest.raises(pytest.fail.Exception, match="processor time"):
        next(call)


def test_a_test_that_only_waited_passes():
    call = Budget(0.05).pytest_runtest_call()
    next(call)
    assert next(call, "passed") == "passed"


def test_the_time_of_child_processes_counts():
    before = spent_s()
    subprocess.run([sys.executable, "-c", "sum(range(5_000_000))"], check=True)
    assert spent_s() > before
