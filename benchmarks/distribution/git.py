"""git: a commit, a push to a bare repository, and a clone or pull for each target."""

import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path

from distribution.distributor import Distributor, Missing, folders, for_each, run
from distribution.tree import Tree


@contextmanager
def git(folder: Path, files: int, targets: int) -> Iterator[dict[str, Distributor]]:
    if shutil.which("git") is None:
        raise Missing("git is not installed")
    tree, copies, hub = Tree(folder / "tree", files), folders(folder, targets), folder / "hub.git"
    here = partial(run, "git", "-C", tree.root, "-c", "user.name=bench", "-c", "user.email=bench@example.org")
    run("git", "init", "--quiet", "--bare", "--initial-branch=main", hub)
    here("init", "--quiet", "--initial-branch=main")
    here("remote", "add", "origin", hub.as_uri())

    def push() -> None:
        here("add", "--all")
        here("commit", "--quiet", "--message=change")
        here("push", "--quiet", "origin", "main")

    def first() -> float:
        push()
        # a file:// URL, because git would make hard links to what is at a path, which another host cannot
        return for_each(lambda copy: run("git", "clone", "--quiet", hub.as_uri(), copy), copies)

    def change(_: str) -> float:
        push()
        return for_each(lambda copy: run("git", "-C", copy, "pull", "--quiet", "--ff-only"), copies)

    yield {"git": Distributor(tree, copies, change, first)}
