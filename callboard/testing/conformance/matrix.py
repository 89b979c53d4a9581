"""Runs every check on every backend, as a table that fills while it runs, with explanations at the end."""

import asyncio
import traceback
from collections import Counter, defaultdict
from collections.abc import Awaitable, Callable, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from string import ascii_lowercase
from typing import Generic, TextIO, TypeVar

from callboard.testing.conformance.candidates import Candidate, New
from callboard.testing.conformance.verdict import explained, verify

H = TypeVar("H")

OK, FAIL = "ok", "FAIL"


@dataclass
class Matrix(Generic[H]):
    """The checks of one suite, and the backends under test.

    Attributes:
        title: what the candidates are.
        checks: the rows.
        candidates: the columns.
        out: where to print.
        cells: by check and candidate: ``ok``, ``FAIL``, or the name of what is not declared.
        problems: the failures, in order.
        letters: the letters of what is not declared, in order.
    """

    title: str
    checks: Sequence[Callable[[H], Awaitable[None]]]
    candidates: Sequence[Candidate[H]]
    out: TextIO
    cells: dict[str, dict[str, str]] = field(default_factory=lambda: defaultdict(dict))
    problems: list[str] = field(default_factory=list)
    letters: dict[str, str] = field(default_factory=dict)

    def run(self) -> None:
        """Start every server, run every check, and print the table row by row, then the explanations."""
        width = max(len(_name(check)) for check in self.checks)
        with ExitStack() as servers:
            running = {candidate.name: self._started(candidate, servers) for candidate in self.candidates}
            self._print(f"{self.title:<{width}}  " + "  ".join(running) + "\n")
            for check in self.checks:
                self._print(f"{_name(check):<{width}}")
                for name, new in running.items():
                    cell = self._judge(check, name, new)
                    self.cells[_name(check)][name] = cell
                    self._print(f"  {self._shown(cell):<{len(name)}}")
                self._print("\n")
        self._explain()

    def _started(self, candidate: Candidate[H], servers: ExitStack) -> New[H] | None:
        try:
            return servers.enter_context(candidate.start())
        except Exception as error:  # noqa: BLE001 - any error fails this column
            self.problems.append(f"{candidate.name} CANNOT BE STARTED, so nothing is known about it: {error}")
            return None

    def _judge(self, check: Callable[[H], Awaitable[None]], name: str, new: New[H] | None) -> str:
        if new is None:
            return FAIL
        try:
            with new() as harness:
                return asyncio.run(verify(check, harness)) or OK
        except Exception:  # noqa: BLE001 - with any error, the backend did not pass
            self.problems.append(f"{name} fails {_name(check)}:\n{traceback.format_exc()}")
            return FAIL

    def _shown(self, cell: str) -> str:
        """A cell as printed: what is not declared gets a letter, which is explained below the table."""
        return cell if cell in {OK, FAIL} else f"-{self.letters.setdefault(cell, ascii_lowercase[len(self.letters)])}"

    def _explain(self) -> None:
        cells = [(cell, name) for row in self.cells.values() for name, cell in row.items()]
        for word, letter in self.letters.items():
            names = dict.fromkeys(name for cell, name in cells if cell == word)
            self._print(f"  -{letter} {word.removeprefix('NOT_')}: {explained(word)}: {', '.join(names)}\n")
        counts = Counter(cell if cell in {OK, FAIL} else "-" for cell, _ in cells)
        self._print(f"  {counts[OK]} ok, {counts['-']} not declared, {counts[FAIL]} FAIL\n\n")
        for problem in self.problems:
            self._print(f"{problem}\n")

    def _print(self, text: str) -> None:
        self.out.write(text)
        self.out.flush()


def _name(check: object) -> str:
    """The check as a sentence."""
    return str(getattr(check, "__name__", check)).removeprefix("check_").replace("_", " ")
