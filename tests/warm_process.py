"""A process that has imported callboard, and runs commands in copies of itself; see ``warm_start``.

Usage: ``python warm_process.py FD``, with the number of the socket on which commands come.
"""

import atexit
import gc
import json
import os
import runpy
import socket
import sys
import tempfile
import threading
import time
from importlib import import_module
from pathlib import Path

import callboard

LEFT_OUT = {"chaos", "demo", "pipeline", "pipeline_demo", "proto", "s3", "sync", "testing", "topology_demo"}
"""Modules of extras, and those that few commands need: these import them themselves."""

REQUEST_BYTES = 1 << 17
"""More than a command line and an environment take."""


def import_callboard() -> None:
    """Import every module but those in ``LEFT_OUT``."""
    root = Path(callboard.__file__).parent
    for path in root.rglob("*.py"):
        names = path.relative_to(root).with_suffix("").parts
        if LEFT_OUT.isdisjoint(names) and not path.stem.startswith("__"):
            import_module(".".join(("callboard", *names)))


def copied(connection: socket.socket) -> None:
    """Copy this process for each command that comes; returns in the copies only, ready to run theirs."""
    while True:
        asked, streams, _, _ = socket.recv_fds(connection, REQUEST_BYTES, 3)
        if not asked:
            sys.exit()
        pid = os.fork()
        if not pid:
            connection.close()
            become(*json.loads(asked), streams)
            return
        for stream in streams:
            os.close(stream)
        connection.send(str(pid).encode())
        _, status, spent = os.wait4(pid, 0)
        connection.send(json.dumps([os.waitstatus_to_exitcode(status), spent.ru_utime + spent.ru_stime]).encode())


def become(words: list[str], folder: str, environ: dict[str, str], streams: list[int]) -> None:
    """Make this process what ``python -m callboard`` is when it starts."""
    for number, stream in enumerate(streams):
        os.dup2(stream, number)
        os.close(stream)
    os.chdir(folder)
    os.environ.clear()
    os.environ.update(environ)
    time.tzset()
    tempfile.tempdir = None
    sys.argv[1:] = words
    sys.path[0] = folder


def end(code: str | int | None) -> None:
    """Do what Python does at exit, but for clearing its modules: that takes as long as the rest of a short command."""
    threading._shutdown()
    atexit._run_exitfuncs()
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(code if isinstance(code, int) else 0)


if __name__ == "__main__":
    import_callboard()
    assert len([*Path("/proc/self/task").iterdir()]) == 1, "a thread would not be copied"
    gc.freeze()
    copied(socket.socket(fileno=int(sys.argv[1])))
    try:
        runpy.run_module("callboard", run_name="__main__", alter_sys=True)
    except SystemExit as ended:
        end(ended.code)
