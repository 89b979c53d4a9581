"""Starts a system on thespian's base of processes."""

import os
import secrets
from typing import Any

from thespian.actors import Actor, ActorSystem

from callboard.actors.runtime.actor_system import hardening, seal

ADMIN_PORT = 1
"""For thespian's administrator: a file name in a private folder."""


def start_system(home: str, actor_class: type[Actor], message: Any) -> None:
    """Start a system in this process, with an actor that first receives this message. Once per process.

    ``home`` is the private folder of its sockets.
    """
    hardening.install(seal.Membership(secrets.token_bytes(32), home))
    capabilities = {"Admin Port": ADMIN_PORT, "Process Startup Method": "fork"}
    # Without logDefs thespian would put handlers on the root logger.
    system = ActorSystem("multiprocTCPBase", capabilities, logDefs={"version": 1}, transientUnique=True)
    system.tell(system.createActor(actor_class), message)
    os.waitpid(-1, 0)  # thespian forks its administrator twice; this reaps the process in between
