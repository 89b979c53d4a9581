"""A release of thespian that removes a private name which is used, or changes the code around it, is noticed here."""

import ast
import hashlib
import inspect
import pkgutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from callboard.actors.runtime import actor_system
from callboard.actors.runtime.actor_system.private_names import PRIVATE_NAMES
from callboard.actors.runtime.actor_system.release import TESTED

COMMON = "thespian.system.multiprocCommon"
TRANSPORT = "thespian.system.transport"
TCP = f"{TRANSPORT}.TCPTransport"

ROOM = Path(actor_system.__file__).parent

READ = {
    "thespian.actors.Actor._myRef": ("thespian.actors.Actor", "e1e22d7c53383eb9"),
    f"{COMMON}.MultiProcReplicator._child_procs": (f"{COMMON}.MultiProcReplicator", "fbaed4d8e7d99d2d"),
    f"{COMMON}.ChildInfo.childProc": (f"{COMMON}.ChildInfo", "9112e6967ffe3e5a"),
    f"{COMMON}.MultiProcReplicator._childExited": (f"{COMMON}.MultiProcReplicator._childExited", "910c47068615dc91"),
    f"{COMMON}.MultiProcAdmin.logdefs": ("thespian.system.admin.adminCore.AdminCore.__init__", "6636125d95b5a61b"),
    f"{COMMON}.exit_signals": (f"{COMMON}.startChild", "607959bb35500ad9"),
    f"{COMMON}.startupASLogger": (f"{COMMON}.startASLogger", "6299a3569600b855"),
    "thespian.system.systemBase.ensure_TZ_set": ("thespian.system.systemBase.ensure_TZ_set", "0b169dfc7dbd2a75"),
    "thespian.system.utilis._thesplog_file": ("thespian.system.utilis.thesplog", "36ec828f54673d4e"),
    "thespian.system.utilis._thesplog_old_file": ("thespian.system.utilis.thesplog", "36ec828f54673d4e"),
    f"{TRANSPORT}.TransmitIntent.__init__": (f"{TRANSPORT}.TransmitIntent.__init__", "40cd9b467a3bd968"),
    f"{TRANSPORT}.TransmitIntent.targetAddr": (f"{TRANSPORT}.TransmitIntent.targetAddr", "e413666feb9e954b"),
    f"{TRANSPORT}.TransmitIntent.message": (f"{TRANSPORT}.TransmitIntent.message", "affbf5cce2149165"),
    f"{TRANSPORT}.IPBase.IPActorAddress.__init__": (f"{TRANSPORT}.IPBase.IPActorAddress.__init__", "9924b8617002bf51"),
    f"{TCP}.socket": (TCP, "303b9a9b3871ca94"),
    f"{TCP}.ReceiveBuffer": (f"{TCP}.ReceiveBuffer", "fb8eefa6c4271c2f"),
    f"{TCP}.ackMsg": (f"{TCP}.TCPTransport._addedDataToIncoming", "7e2ca3a3f386e2be"),
    f"{TCP}.ackDataErrMsg": (f"{TCP}.TCPTransport._addedDataToIncoming", "7e2ca3a3f386e2be"),
    f"{TCP}._safeSocketShutdown": (f"{TCP}._safeSocketShutdown", "03207631c276922d"),
    f"{TCP}.TCPEndpoint": (f"{TCP}.TCPEndpoint", "05fa9bcdc76c9178"),
    f"{TCP}.TCPTransport.__init__": (f"{TCP}.TCPTransport.__init__", "eabcf02e37125c2a"),
    f"{TCP}.TCPTransport.myAddress": (f"{TCP}.TCPTransport.__init__", "eabcf02e37125c2a"),
    f"{TCP}.TCPTransport._adminAddr": (f"{TCP}.TCPTransport.__init__", "eabcf02e37125c2a"),
    f"{TCP}.TCPTransport.serializer": (f"{TCP}.TCPTransport.serializer", "edad38c6ae18f32d"),
    f"{TCP}.TCPTransport._scheduleTransmitActual": (f"{TCP}.TCPTransport._scheduleTransmitActual", "d162b77006bbfcf3"),
    f"{TCP}.TCPTransport.serMsg": (f"{TCP}.TCPTransport._next_XMIT_2", "67f5dc3b7dc1ff39"),
    f"{TCP}.TCPTransport._check_XMIT_4_done": (f"{TCP}.TCPTransport._check_XMIT_4_done", "61163ba5b1d07029"),
    f"{TCP}.TCPTransport.stage": (f"{TCP}.TCPTransport._nextTransmitStep", "fa4e33734d50e955"),
    f"{TCP}.TCPTransport._XMITStepRetry": (f"{TCP}.TCPTransport._next_XMIT_2", "67f5dc3b7dc1ff39"),
    f"{TCP}.TCPTransport._nextTransmitStep": (f"{TCP}.TCPTransport._nextTransmitStep", "fa4e33734d50e955"),
    f"{TCP}.TCPTransport._safeSocketShutdown": (f"{TCP}.TCPTransport._safeSocketShutdown", "968b3949b595619e"),
}
"""For each private name the code that defines it, or works with it, and the digest of that code as it was read."""


def source_of(place: str) -> str:
    found: Any = pkgutil.resolve_name(place)
    return inspect.getsource(found.fget if isinstance(found, property) else found)


@pytest.mark.parametrize("name", PRIVATE_NAMES)
def test_the_code_around_a_private_name_is_unchanged(name: str) -> None:
    place, digest = READ[name]
    last, source = name.rpartition(".")[2], source_of(place)
    assert last in source, f"{place} has no {last} any more, which {PRIVATE_NAMES[name]}"
    assert hashlib.sha256(source.encode()).hexdigest()[:16] == digest, (
        f"{place} is another than in {TESTED}; read it again: {last} {PRIVATE_NAMES[name]}"
    )


def test_exactly_the_private_names_in_use_are_listed() -> None:
    trees = {path.stem: ast.parse(path.read_text(encoding="utf-8")) for path in ROOM.glob("*.py")}
    del trees["private_names"]
    nodes = [node for tree in trees.values() for node in ast.walk(tree)]
    attributes = {node.attr for node in nodes if isinstance(node, ast.Attribute)}
    ours = {node.name for node in nodes if isinstance(node, ast.FunctionDef)}
    ours |= {node.attr for node in nodes if isinstance(node, ast.Attribute) and is_set_on_self(node)}
    used = {name for name in attributes if name.startswith("_")} - ours - {"_exit", "__defaults__"}
    used |= set(of_inner_modules(trees["hardening"]))
    listed = {name.rpartition(".")[2] for name in PRIVATE_NAMES}
    owners = {part for name in PRIVATE_NAMES for part in name.split(".")[:-1]}
    assert used - listed - owners == set()
    assert listed - used - attributes == set()


def is_set_on_self(node: ast.Attribute) -> bool:
    return isinstance(node.ctx, ast.Store) and ast.unparse(node.value) == "self"


def of_inner_modules(tree: ast.Module) -> Iterator[str]:
    """What is taken from the modules below ``thespian.system``."""
    inner = {
        alias.asname or alias.name
        for node in ast.walk(tree)
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("thespian.system")
        for alias in node.names
    }
    for node in ast.walk(tree):
        if isinstance(node, ast.Attribute) and ast.unparse(node.value) in {*inner, "_Transport"}:
            yield node.attr
