"""callboard beside rsync, git, Syncthing and a bucket: one tree of 10,000 files, 100 targets on this machine.

Usage: ``python benchmarks/peers.py [--quick] [--files 10000] [--targets 100] [--rounds 5] [--only rsync git]``. The
folders are below ``TMPDIR`` and take 45 GB.

Two questions: what the first copy to all targets costs, measured once; and what it costs to bring the change of one
file to all of them, median of the rounds, in which the peers take turns. Time is from the first command, or the call of
``publish``, until the last target has it. Commands run two at a time if not said otherwise. Processor time and bytes
written are of all processes that take part. At the end, every copy is compared with the tree.

All agents and servers stay up while the others are measured: the idle subscribers take a tenth of a core.
"""

import argparse
import statistics
import tempfile
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

from distribution.board import board
from distribution.distributor import Distributor, Distributors, Missing
from distribution.git import git
from distribution.rsync import rsync
from distribution.s3 import s3_sync
from distribution.spending import Spending, children, spending
from distribution.syncthing import syncthing
from report import Report

FILES, TARGETS, ROUNDS = 10_000, 100, 5
QUICK_FILES, QUICK_TARGETS, QUICK_ROUNDS = 500, 10, 3
OURS = "callboard, folders"

PEERS: dict[str, Distributors] = {
    "folders": partial(board, into_folders=True),
    "sqlite": partial(board, into_folders=False),
    "rsync": rsync,
    "git": git,
    "syncthing": syncthing,
    "s3": s3_sync,
}


@dataclass
class Contestant:
    """A distributor, the processes that it needs, and what it has cost."""

    name: str
    distributor: Distributor
    running: set[int]
    first: list[Spending] = field(default_factory=list)
    changes: list[Spending] = field(default_factory=list)

    def copy(self) -> None:
        """Measure the first copy."""
        if self.distributor.first:
            self.first.append(spending(self.distributor.first, self.running))
            print(f"{self.name}: first copy in {self.first[0].seconds:.1f} s", flush=True)

    def change(self) -> None:
        """Measure a change."""
        tree, copies = self.distributor.tree, self.distributor.copies
        path = tree.change()
        self.changes.append(spending(partial(self.distributor.change, path), self.running))
        assert all(tree.has_arrived(path, copy) for copy in copies), f"{self.name} has not brought {path} everywhere"


def measured(folder: Path, peers: list[str], files: int, targets: int, rounds: int) -> list[Contestant]:
    """Let the peers take turns."""
    contestants: list[Contestant] = []
    with ExitStack() as stack:
        for peer in peers:
            before = children()
            try:
                distributors = stack.enter_context(PEERS[peer](folder / peer, files, targets))
            except Missing as missing:
                print(f"{peer} is left out: {missing}")
                continue
            running = children() - before
            contestants += [Contestant(name, each, running) for name, each in distributors.items()]
        for contestant in contestants:
            contestant.copy()
        for number in range(rounds + 1):
            turn = number % len(contestants)
            for contestant in contestants[turn:] + contestants[:turn]:
                contestant.change()
        copied = {id(each.distributor.copies): each.distributor for each in contestants}
        for distributor in copied.values():
            distributor.tree.compare(distributor.copies)
        for contestant in contestants:
            del contestant.changes[0]  # it warmed up
    return contestants


def tell(report: Report, question: str, spent: dict[str, list[Spending]], targets: dict[str, int]) -> None:
    """The rows about one question, in units for each target, because some peers have fewer; ours beside each peer."""
    measures: dict[str, Callable[[Spending], float]] = {
        "s": lambda each: each.seconds,
        "s of processor": lambda each: each.cpu_s,
    }
    for unit, measure in measures.items():
        figures = {name: [measure(each) / targets[name] for each in costs] for name, costs in spent.items()}
        for name, theirs in figures.items():
            note = f"{statistics.median(theirs) * targets[name]:.3g} {unit} for {targets[name]} targets"
            if unit == "s":
                synced_s = statistics.median(each.synced_s for each in spent[name])
                written_mb = statistics.median(each.written_mb for each in spent[name])
                note += f"; {written_mb:.3g} MB written, on disk {synced_s:.2g} s later"
            ours = () if name.startswith("callboard") else figures.get(OURS, ())
            peer = theirs if ours else ()
            report.row(f"{question}: {name}", ours or theirs, peer, unit=f"{unit}/target", peer_name=name, note=note)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--files", type=int)
    parser.add_argument("--targets", type=int)
    parser.add_argument("--rounds", type=int)
    parser.add_argument("--only", nargs="+", choices=PEERS, default=list(PEERS))
    given = parser.parse_args()
    files, targets, rounds = (QUICK_FILES, QUICK_TARGETS, QUICK_ROUNDS) if given.quick else (FILES, TARGETS, ROUNDS)
    files, targets, rounds = given.files or files, given.targets or targets, given.rounds or rounds
    with tempfile.TemporaryDirectory() as folder:
        contestants = measured(Path(folder), given.only, files, targets, rounds)
        report = Report("peers")
        reached = {each.name: len(each.distributor.copies) for each in contestants}
        for question, spent in (
            (f"first copy of {files} files", {each.name: each.first for each in contestants if each.first}),
            (f"change of 1 of {files} files", {each.name: each.changes for each in contestants}),
        ):
            tell(report, question, spent, reached)
        report.write()  # before the folder is removed, which takes minutes


if __name__ == "__main__":
    main()
