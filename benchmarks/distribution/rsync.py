"""rsync in a loop, as a script does it: a command for each target, which compares all files.

With the daemon, each target pulls over a socket, as from another host. With ``--files-from``, the script knows what
has changed, and rsync looks at nothing else.
"""

import shutil
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from socket import create_connection

from distribution.distributor import Distributor, Missing, folders, for_each, run
from distribution.tree import Tree

from callboard.testing.servers.network import free_port

START_S = 10.0


@contextmanager
def rsync(folder: Path, files: int, targets: int) -> Iterator[dict[str, Distributor]]:
    if shutil.which("rsync") is None:
        raise Missing("rsync is not installed")
    tree, copies, listed = Tree(folder / "tree", files), folders(folder, targets), folder / "changed"

    def copy(target: Path) -> None:
        run("rsync", "-a", "--delete", f"{tree.root}/", target)

    def copy_listed(target: Path) -> None:
        run("rsync", "-a", f"--files-from={listed}", f"{tree.root}/", target)

    def pull(target: Path) -> None:
        run("rsync", "-a", "--delete", f"rsync://127.0.0.1:{port}/tree/", target)

    def tell(path: str) -> float:
        listed.write_text(f"{path}\n")
        return for_each(copy_listed, copies)

    with _daemon(folder, tree) as port:
        yield {
            "rsync": Distributor(tree, copies, lambda _: for_each(copy, copies), lambda: for_each(copy, copies)),
            "rsync, one at a time": Distributor(tree, copies, lambda _: for_each(copy, copies, at_once=1)),
            "rsync from a daemon": Distributor(tree, copies, lambda _: for_each(pull, copies)),
            "rsync --files-from": Distributor(tree, copies, tell),
        }


@contextmanager
def _daemon(folder: Path, tree: Tree) -> Iterator[int]:
    port, settings = free_port(), folder / "rsyncd.conf"
    settings.write_text(f"use chroot = no\nlog file = {folder / 'rsyncd.log'}\n[tree]\npath = {tree.root}\n")
    command = ["rsync", "--daemon", "--no-detach", f"--config={settings}", f"--port={port}", "--address=127.0.0.1"]
    process = subprocess.Popen(command, stdin=subprocess.DEVNULL)
    try:
        await_port(process, port)
        yield port
    finally:
        process.terminate()
        process.wait()


def await_port(process: subprocess.Popen[bytes], port: int) -> None:
    """Wait until the process listens."""
    deadline = time.monotonic() + START_S
    while True:
        try:
            create_connection(("127.0.0.1", port)).close()
            return
        except ConnectionRefusedError:
            if process.poll() is not None or time.monotonic() > deadline:
                raise RuntimeError(f"{process.args} does not listen on port {port}") from None
            time.sleep(0.02)
