"""Every private name of thespian that is used or replaced here, and why. They tie callboard to one release.

A test for each of them fails when a release removes the name or changes the code around it: then read that code, check
that our use of it still works, and only then change ``release.TESTED``.
"""

from collections.abc import Mapping

_COMMON = "thespian.system.multiprocCommon"
_TCP = "thespian.system.transport.TCPTransport"

PRIVATE_NAMES: Mapping[str, str] = {
    "thespian.actors.Actor._myRef": "binds an actor to its base; on an asyncio loop that is ours",
    f"{_COMMON}.MultiProcReplicator._child_procs": "has the process of the actor that was just created",
    f"{_COMMON}.ChildInfo.childProc": "is that process",
    f"{_COMMON}.MultiProcReplicator._childExited": "forgets children whose death was not reported: does nothing now",
    f"{_COMMON}.MultiProcAdmin.logdefs": "is asked for as logDefs when the logger has died: has that name, too",
    f"{_COMMON}.exit_signals": "ends actors at a signal that is meant for the service: is empty now",
    f"{_COMMON}.startupASLogger": "runs the logger: gives its process a name first",
    "thespian.system.systemBase.ensure_TZ_set": "changes the process's environment: does nothing now",
    "thespian.system.utilis._thesplog_file": "is in the system's temporary folder: is in the private one now",
    "thespian.system.utilis._thesplog_old_file": "likewise",
    "thespian.system.transport.TransmitIntent.__init__": "waits 35 s before it tries again, by default: 0.2 s now",
    "thespian.system.transport.TransmitIntent.targetAddr": "is what a frame is sealed for",
    "thespian.system.transport.TransmitIntent.message": "is what a frame is made of",
    "thespian.system.transport.IPBase.IPActorAddress.__init__": "resolves names and binds to every interface: "
    "sets af, socktype, sockname and bindname for a Unix socket now",
    f"{_TCP}.socket": "is the module whose sockets are used: has ours now",
    f"{_TCP}.ReceiveBuffer": "unpickles what it receives: ours only what is sealed",
    f"{_TCP}.ackMsg": "is the acknowledgement: is sealed now",
    f"{_TCP}.ackDataErrMsg": "likewise",
    f"{_TCP}._safeSocketShutdown": "never closes a socket, as it tests for a class that none has: closes now",
    f"{_TCP}.TCPEndpoint": "tells the transport of a process that was forked",
    f"{_TCP}.TCPTransport.__init__": "is what every process of a system does first: also puts it on the leash",
    f"{_TCP}.TCPTransport.myAddress": "has the number of the socket that a process listens on",
    f"{_TCP}.TCPTransport._adminAddr": "tells the administrator's process from the others",
    f"{_TCP}.TCPTransport.serializer": "makes frames of messages: of sealed ones now",
    f"{_TCP}.TCPTransport._scheduleTransmitActual": "sends old bytes to a new receiver: makes new ones first",
    f"{_TCP}.TCPTransport.serMsg": "is where an intent has its bytes",
    f"{_TCP}.TCPTransport._check_XMIT_4_done": "loses an intent over a wrong acknowledgement: tries it again now",
    f"{_TCP}.TCPTransport.stage": "is set for that",
    f"{_TCP}.TCPTransport._XMITStepRetry": "is the stage that it is set to",
    f"{_TCP}.TCPTransport._nextTransmitStep": "continues from there",
    f"{_TCP}.TCPTransport._safeSocketShutdown": "like the function of this name",
}
"""The name, and what it is or does in thespian: how it is used or replaced here."""
