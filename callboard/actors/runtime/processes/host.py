"""The host process of an agent whose actors have processes of their own.

The service starts it with fork and exec, so the service may have threads; this process has none and forks all others.
It is the only process that the service has to watch, and it holds everything below on a leash: when
the service closes the pipe, or dies, all actors are killed and the private folder is removed.
"""

import os
import pickle
import select
import shutil
import signal
import struct
import sys
import traceback
from collections.abc import Callable
from typing import NamedTuple

from callboard.actors.runtime.actor_system import leash
from callboard.actors.runtime.control import StartAgent

LENGTH = struct.Struct(">Q")


class Launch(NamedTuple):
    """What the service tells the host, over the pipe."""

    owner: int
    home: str
    configure_logging: Callable[[], None] | None
    start: StartAgent


def main() -> None:
    """Run the actor system until the service is gone."""
    launch: Launch = pickle.loads(_read_launch())  # noqa: S301  # from the parent, over an anonymous pipe
    pipe = os.dup(0)
    with open(os.devnull, "rb") as nothing:  # noqa: PTH123  # a file descriptor is wanted
        os.dup2(nothing.fileno(), 0)
    leash.adopt_orphans()
    leash.set_name("cb:host")
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        # The signal is meant for the service, which stops its agents in order, even if it reaches the whole group.
        signal.signal(number, signal.SIG_IGN)
    try:
        owner = os.pidfd_open(launch.owner)
        if os.getppid() == launch.owner:
            _run(launch, pipe, owner)
    except Exception:  # noqa: BLE001  # os._exit would swallow it
        traceback.print_exc()
    finally:
        os.closerange(0, 2)  # finding processes and removing the folder takes two descriptors; there may be no others
        leash.kill_descendants()
        shutil.rmtree(launch.home, ignore_errors=True)
        sys.stderr.flush()
        os._exit(0)  # thespian's exit handlers would wait for processes that are dead


def _run(launch: Launch, pipe: int, owner: int) -> None:
    if launch.configure_logging is not None:
        launch.configure_logging()
    # Imported here, since the service imports this module too, and needs none of it.
    from callboard.actors.runtime.actor_system.process_base import start_system
    from callboard.actors.runtime.supervisor import Supervisor

    start_system(launch.home, Supervisor, launch.start)
    ends = select.poll()
    ends.register(pipe, select.POLLIN)
    ends.register(owner, select.POLLIN)
    ends.poll()  # nothing is written to the pipe after the launch, so this waits for its end


def _read_launch() -> bytes:
    # Buffered: BOOT has already read a line from it.
    head = sys.stdin.buffer.read(LENGTH.size)
    length = LENGTH.unpack(head)[0] if len(head) == LENGTH.size else -1
    data = sys.stdin.buffer.read(max(length, 0))
    if len(data) != length:
        sys.exit("the service ended before it sent the agent to run")
    return data
