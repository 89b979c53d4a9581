"""Makes thespian's multiprocTCPBase safe to run: ``install`` patches thespian in this process.

As shipped it listens on all interfaces and unpickles any bytes that arrive. With the patches,

* its sockets are Unix sockets in a private folder (``unix_socket.py``);
* every frame is authenticated before it is unpickled (``seal.py``);
* every process of a system dies with the one that created it (``leash.py``);
* the death of its logger does not kill the administrator, and the death of every child is noticed.

Only the host process of an agent (``host.py``) does this; processes it forks inherit the patches and the key.
"""

import pickle
import socket
from datetime import timedelta
from types import SimpleNamespace
from typing import Any

from thespian.system import multiprocCommon, systemBase, utilis
from thespian.system.transport import TCPTransport as tcp  # noqa: N813  # a module, named like its class
from thespian.system.transport import TransmitIntent
from thespian.system.transport.IPBase import IPActorAddress

from callboard.actors.runtime.actor_system import leash, seal
from callboard.actors.runtime.actor_system.release import demand_tested_release
from callboard.actors.runtime.actor_system.unix_socket import LOOPBACK, UnixSocket

RETRY = timedelta(seconds=0.2)
"""Pause before a failed transmission is retried. Stock: 35 s, in which the message and its peer are blocked."""

_Transport: Any = tcp.TCPTransport
_init = _Transport.__init__
_schedule = _Transport._scheduleTransmitActual  # noqa: SLF001  # see private_names.py for all of these
_run_logger = multiprocCommon.startupASLogger
_check_ack = _Transport._check_XMIT_4_done  # noqa: SLF001


def install(membership: seal.Membership) -> None:
    """Patch thespian and make this process a member of a new system. Once per process.

    Raises ``ConfigError`` if it is not the release that ``private_names.py`` is about.
    """
    demand_tested_release()
    seal.join(membership)
    tcp.ackMsg = seal.seal(0, seal.ACK)
    tcp.ackDataErrMsg = seal.seal(0, seal.NACK)
    # The default is a guessable name in the system's temporary folder, and the file contains message texts.
    utilis._thesplog_file = f"{membership.home}/thespian.log"  # noqa: SLF001
    utilis._thesplog_old_file = f"{membership.home}/thespian.old"  # noqa: SLF001
    _Transport.__init__ = _start
    _Transport.serializer = _serialize
    _Transport._scheduleTransmitActual = _schedule_sealed  # noqa: SLF001
    _Transport._check_XMIT_4_done = _check_ack_or_retry  # noqa: SLF001
    _Transport._safeSocketShutdown = staticmethod(_close)  # noqa: SLF001
    IPActorAddress.__init__ = _address
    tcp.ReceiveBuffer = seal.SealedBuffer
    tcp.socket = SimpleNamespace(**{**vars(socket), "socket": UnixSocket})
    tcp._safeSocketShutdown = _close  # noqa: SLF001
    TransmitIntent.__init__.__defaults__ = tuple(
        RETRY if default == timedelta(seconds=35) else default for default in TransmitIntent.__init__.__defaults__ or ()
    )
    multiprocCommon.startupASLogger = _logger
    # childDied() asks for logDefs when the logger has died, but the attribute is named logdefs.
    multiprocCommon.MultiProcAdmin.logDefs = property(lambda admin: admin.logdefs)
    # Stock forgets every dead child when one is reported, so of several that die together some would go unnoticed.
    multiprocCommon.MultiProcReplicator._childExited = lambda *_: None  # noqa: SLF001
    # A signal to the whole group is for the service; stock would end each actor and the supervisor.
    multiprocCommon.exit_signals = []
    # Stock would change the time zone in the process's environment.
    systemBase.ensure_TZ_set = lambda: None


def _logger(*args: Any) -> None:
    leash.set_name("cb:logger")
    _run_logger(*args)


def _number(address: Any) -> int:
    return int(address.addressDetails.sockname[1])


def _address(self: Any, *family_kind_protocol_host_port: Any, external: Any = None) -> None:
    # Stock resolves names, asks a public address for a route, and binds to every interface.
    del external
    self.af, self.socktype, self.proto, _, port = family_kind_protocol_host_port[:5]
    self.sockname = (LOOPBACK, int(port or 0))
    self.bindname = self.sockname


def _start(self: Any, kind: Any, *args: Any) -> None:
    # Every forked process creates its transport before anything else.
    if isinstance(kind, tcp.TCPEndpoint):
        leash.die_with_parent()
    _init(self, kind, *args)
    if self.myAddress == self._adminAddr:
        leash.set_name("cb:admin")
    seal.listen_as(_number(self.myAddress))


def _serialize(self: Any, intent: Any) -> bytes:
    # The only place that turns messages into frames.
    intent.sealed = (intent.targetAddr, intent.message)
    return seal.seal(_number(intent.targetAddr), pickle.dumps((self.myAddress, intent.message)))


def _schedule_sealed(self: Any, intent: Any, **flags: Any) -> None:
    # deadAddress() gives queued intents another receiver, but leaves the old receiver's bytes in them.
    if intent.sealed[0] is not intent.targetAddr or intent.sealed[1] is not intent.message:
        intent.serMsg = self.serializer(intent)
    _schedule(self, intent, **flags)


def _check_ack_or_retry(self: Any, intent: Any, data: bytes) -> Any:
    try:
        return _check_ack(self, intent, data)
    except Exception:  # noqa: BLE001  # stock would forget the intent and never free its slot, one of 20
        intent.stage = self._XMITStepRetry
        return self._nextTransmitStep(intent)


def _close(sock: Any) -> None:
    # Stock tests a class with isinstance, so it never closes anything.
    sock = getattr(sock, "socket", sock)
    if sock:
        sock.close()
