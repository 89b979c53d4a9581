"""What is fuzzed: a file of ``targets`` has ``seeds()``, good inputs to begin with, and ``run(data)``, which returns.

``run`` fails for any error that is not documented, and for accepted nonsense. The folder
``found`` keeps, by target, inputs that have failed once.
"""

import runpy
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

HERE = Path(__file__).resolve().parent
NAMES = sorted(path.stem for path in (HERE / "targets").glob("*.py"))


@dataclass(frozen=True)
class Target:
    name: str
    run: Callable[[bytes], None]
    seeds: tuple[bytes, ...]

    @property
    def found(self) -> list[Path]:
        return sorted((HERE / "found" / self.name).glob("*"))


def load(name: str) -> Target:
    names = runpy.run_path(str(HERE / "targets" / f"{name}.py"))
    return Target(name, names["run"], tuple(names["seeds"]()))
