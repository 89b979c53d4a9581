"""A short run of every target of the fuzzer: past failures, damaged good inputs, and arbitrary bytes.

``make fuzz`` continues from here, guided by what code an input reaches.
"""

from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

NAMES = sorted(path.stem for path in (Path(__file__).parent / "targets").glob("*.py"))
EXAMPLES = {"imports": 60}
"""An import is hundreds of system calls."""

changes = st.lists(st.tuples(st.integers(0, 4095), st.binary(max_size=4), st.integers(0, 4)), max_size=6)


@pytest.fixture
def load(monkeypatch: pytest.MonkeyPatch) -> Any:
    monkeypatch.syspath_prepend(str(Path(__file__).parent))
    from target import load

    return load


@pytest.mark.parametrize("name", NAMES)
def test_good_inputs_and_past_failures_are_handled(name: str, load: Any) -> None:
    target = load(name)

    for data in (b"", *target.seeds):
        target.run(data)
    for path in target.found:
        target.run(path.read_bytes())


@pytest.mark.parametrize("name", NAMES)
def test_damaged_inputs_are_read_correctly_or_refused(name: str, load: Any) -> None:
    target = load(name)

    @settings(deadline=None, max_examples=EXAMPLES.get(name, 200), database=None)
    @given(seed=st.sampled_from(target.seeds), changes=changes)
    def damaged(seed: bytes, changes: list[tuple[int, bytes, int]]) -> None:
        data = seed
        for anywhere, new, removed in changes:
            place = anywhere % (len(data) + 1)
            data = data[:place] + new + data[place + removed :]
        target.run(data)

    damaged()


@pytest.mark.parametrize("name", NAMES)
def test_arbitrary_bytes_are_read_correctly_or_refused(name: str, load: Any) -> None:
    target = load(name)

    @settings(deadline=None, max_examples=EXAMPLES.get(name, 200), database=None)
    @given(data=st.binary(max_size=200))
    def made_up(data: bytes) -> None:
        target.run(data)

    made_up()
