#!/usr/bin/env python3
"""A real Kafka on this machine, without containers: fetches the jars with Maven; formats, starts and stops brokers.

Usage::

    broker.py start --data ./kafka                 # prints the bootstrap servers when they answer
    broker.py start --data ./kafka --brokers 3     # a cluster with replication factor 3
    broker.py start --data ./kafka --secure ann:secret   # another listener, SASL_SSL with PLAIN
    broker.py status --data ./kafka
    broker.py stop --data ./kafka                  # the data stays for the next start
    broker.py fetch                                # only the jars

Needs Java 17 or newer and, the first time, mvn. For development and tests: it listens on 127.0.0.1 only.
"""

import argparse
import base64
import json
import os
import random
import shutil
import signal
import socket
import struct
import subprocess
import sys
import tempfile
import time
import uuid
from contextlib import suppress
from pathlib import Path

HOME = Path("~/.cache/callboard-kafka").expanduser()
"""Where the jars are kept."""

READY_S = 180.0
"""Limit of a start. It takes 5 s, or a minute if a log is recovered on a busy machine."""

PORTS_FROM, PORTS_BELOW = 20_000, 32_768
"""Ports of the brokers: below the kernel's ephemeral ports, so that no other process takes a broker's port while it
is down."""

STOP_S = 20.0
"""How long a broker may take to stop before it is killed."""

SAID_CHARACTERS = 1000
"""Of a broker's output in an error: its last lines say why it failed."""

POLL_S = 0.05

QUICK_START = (
    "-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC", "-XX:+UnlockDiagnosticVMOptions", "-XX:-BytecodeVerificationRemote",
)  # fmt: skip
"""For Java processes that run for seconds: no second compiler, no threads of a collector, no check of released code."""

KEYSTORE_PASSWORD = "local-only"
"""The key store is made for one data folder and protects nothing else."""

PROPERTIES = """\
process.roles=broker,controller
node.id={node}
controller.quorum.voters={voters}
listeners={listeners},CONTROLLER://127.0.0.1:{controller}
advertised.listeners={advertised}
controller.listener.names=CONTROLLER
inter.broker.listener.name=PLAINTEXT
listener.security.protocol.map=CONTROLLER:PLAINTEXT,PLAINTEXT:PLAINTEXT,RELAYED:PLAINTEXT,SECURE:SASL_SSL
log.dirs={folder}/log
num.partitions=1
auto.create.topics.enable=false
default.replication.factor={replicas}
min.insync.replicas={in_sync}
offsets.topic.replication.factor={replicas}
offsets.topic.num.partitions=1
transaction.state.log.replication.factor={replicas}
transaction.state.log.min.isr={in_sync}
transaction.state.log.num.partitions=1
share.coordinator.state.topic.replication.factor={replicas}
share.coordinator.state.topic.min.isr={in_sync}
group.initial.rebalance.delay.ms=0
controlled.shutdown.retry.backoff.ms=200
broker.heartbeat.interval.ms=500
broker.session.timeout.ms=3000
log.retention.check.interval.ms=1000
"""

SECURE_PROPERTIES = """\
sasl.enabled.mechanisms=PLAIN
ssl.keystore.type=PKCS12
ssl.keystore.location={keystore}
ssl.keystore.password={keystore_password}
listener.name.secure.plain.sasl.jaas.config=org.apache.kafka.common.security.plain.PlainLoginModule required \
user_{user}="{password}";
"""


class Unavailable(Exception):
    """Java, Maven or the jars are missing; the message says which."""


def fetch(libs: Path) -> None:
    """Copy the jars that ``pom.xml`` names into ``libs`` unless they are there. Raises ``Unavailable``.

    A folder with other jars is left as it is.
    """
    pom = Path(__file__).with_name("pom.xml")
    done = libs / "fetched.xml"
    if done.read_bytes() == pom.read_bytes() if done.exists() else any(libs.glob("kafka_2.13-*.jar")):
        return
    if shutil.which("mvn") is None:
        raise Unavailable(f"mvn is not installed; install Maven, or copy the jars of Kafka 4 into {libs}")
    copy = ["mvn", "-B", "-q", "-f", str(pom), "dependency:copy-dependencies", "-DincludeScope=runtime"]
    libs.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=libs.parent) as folder:
        new = Path(folder) / "libs"
        finished = subprocess.run([*copy, f"-DoutputDirectory={new}"], capture_output=True, text=True, check=False)
        if finished.returncode != 0:
            raise Unavailable(f"Maven could not fetch Kafka: {(finished.stdout + finished.stderr).strip()[-600:]}")
        (new / done.name).write_bytes(pom.read_bytes())
        shutil.rmtree(libs, ignore_errors=True)
        new.rename(libs)


class LocalKafka:
    """One or more brokers over a data folder.

    Args:
        data: what is kept between starts: settings, ports, records, the brokers' output, process ids.
        libs: the folder with the jars.
        brokers: how many, when the folder is new.
        secure: ``user:password`` for an additional SASL_SSL listener, when the folder is new.
        relay_port: where a relay to ``relayed_port`` listens, for clients that are to come through it; when the folder
            is new, and for one broker.
        leash: have the kernel end the brokers with this process, however it ends (where there is setpriv).
    """

    def __init__(
        self,
        data: Path,
        libs: Path = HOME / "libs",
        brokers: int = 1,
        secure: str = "",
        leash: bool = False,
        relay_port: int = 0,
    ) -> None:
        self.data, self._libs = data.absolute(), libs
        self._brokers, self._secure, self._leash, self._relay_port = brokers, secure, leash, relay_port
        self._processes: dict[int, subprocess.Popen[bytes]] = {}

    @property
    def bootstrap(self) -> str:
        """The brokers' addresses, separated by commas."""
        return ",".join(f"127.0.0.1:{port}" for port in self._settings()["ports"].values())

    @property
    def secure_bootstrap(self) -> str:
        """The same for the SASL_SSL listener."""
        return ",".join(f"127.0.0.1:{port}" for port in self._settings()["secure_ports"].values())

    @property
    def relayed_port(self) -> int:
        """The port of the listener that advertises the relay to its clients."""
        return self._settings()["relayed_ports"]["1"]

    @property
    def certificate(self) -> Path:
        """The certificate that clients of the SASL_SSL listener must trust."""
        return self.data / "certificate.pem"

    def start(self) -> None:
        """Start every broker that is not running, and wait until all answer. Raises ``Unavailable``."""
        fetch(self._libs)
        if shutil.which("java") is None:
            raise Unavailable("java is not installed; Kafka 4 needs Java 17 or newer")
        if not (self.data / "cluster.json").exists():
            self._make()
        for node in self.nodes():
            if not self.pid(node):
                self._launch(node)
        self._wait_until_ready()

    def stop(self) -> None:
        """Stop every broker; the data stays."""
        for node in self.nodes():
            self.signal(node, signal.SIGCONT)
            self.signal(node, signal.SIGTERM)
        deadline = time.monotonic() + STOP_S
        while any(self.pid(node) for node in self.nodes()):
            if time.monotonic() > deadline:
                for node in self.nodes():
                    self.signal(node, signal.SIGKILL)
            time.sleep(POLL_S)

    def kill(self, node: int) -> None:
        """Kill a broker, as a power cut would; ``start`` restarts it."""
        self.signal(node, signal.SIGKILL)
        while self.pid(node):
            time.sleep(POLL_S)

    def signal(self, node: int, number: int) -> None:
        """Send a signal to a broker, if it runs."""
        if pid := self.pid(node):
            os.kill(pid, number)

    def said(self, node: int) -> str:
        """The end of a broker's output."""
        return (self.data / f"node-{node}.out").read_text(errors="replace").strip()[-SAID_CHARACTERS:]

    def nodes(self) -> list[int]:
        """The ids of the brokers; none for a folder that was never started."""
        if not (self.data / "cluster.json").exists():
            return []
        return [int(node) for node in self._settings()["ports"]]

    def pid(self, node: int) -> int:
        """The process of a broker, 0 if it does not run."""
        if node in self._processes:  # its exit has to be taken in by poll
            return self._processes[node].pid if self._processes[node].poll() is None else 0
        path = self.data / f"node-{node}.pid"
        pid = int(path.read_text()) if path.exists() else 0
        command = Path(f"/proc/{pid}/cmdline")
        alive = pid and command.exists() and str(self._properties(node)).encode() in command.read_bytes()
        return pid if alive else 0

    def _settings(self) -> dict[str, dict[str, int]]:
        settings: dict[str, dict[str, int]] = json.loads((self.data / "cluster.json").read_text())
        return settings

    def _properties(self, node: int) -> Path:
        return self.data / f"node-{node}.properties"

    def _make(self) -> None:
        """Choose ports, write the settings and format the folders of all brokers."""
        self.data.mkdir(parents=True, exist_ok=True)
        nodes = range(1, self._brokers + 1)
        free = iter(_free_ports(4 * self._brokers))
        ports, secure_ports, relayed_ports, controllers = ({node: next(free) for node in nodes} for _ in range(4))
        voters = ",".join(f"{node}@127.0.0.1:{controllers[node]}" for node in nodes)
        if self._secure:
            self._make_certificate()
        for node in nodes:
            listeners = f"PLAINTEXT://127.0.0.1:{ports[node]}"
            listeners += f",SECURE://127.0.0.1:{secure_ports[node]}" if self._secure else ""
            relayed, relay = (f",RELAYED://127.0.0.1:{port}" for port in (relayed_ports[node], self._relay_port))
            text = PROPERTIES.format(
                node=node, voters=voters, listeners=listeners + relayed * bool(self._relay_port),
                advertised=listeners + relay * bool(self._relay_port), controller=controllers[node],
                folder=self.data / f"node-{node}", replicas=min(3, self._brokers), in_sync=min(2, self._brokers),
            )  # fmt: skip
            self._properties(node).write_text(text + self._secure_properties())
        cluster_id = _cluster_id()
        for node in nodes:
            self._java("kafka.tools.StorageTool", "format", "-t", cluster_id, "-c", str(self._properties(node)))
        (self.data / "cluster.json").write_text(
            json.dumps({
                "ports": ports,
                "secure_ports": secure_ports if self._secure else {},
                "relayed_ports": relayed_ports if self._relay_port else {},
            })
        )

    def _secure_properties(self) -> str:
        if not self._secure:
            return ""
        user, _, password = self._secure.partition(":")
        return SECURE_PROPERTIES.format(
            keystore=self.data / "key.p12", keystore_password=KEYSTORE_PASSWORD, user=user, password=password
        )

    def _make_certificate(self) -> None:
        store = ["-keystore", str(self.data / "key.p12"), "-storepass", KEYSTORE_PASSWORD, "-alias", "local"]
        name = ["-dname", "CN=127.0.0.1", "-ext", "san=ip:127.0.0.1", "-validity", "3650", "-keyalg", "RSA"]
        _run(["keytool", "-genkeypair", *store, *name])
        _run(["keytool", "-exportcert", "-rfc", *store, "-file", str(self.certificate)])

    def _java(self, *arguments: str) -> None:
        _run(["java", *QUICK_START, "-cp", f"{self._libs}/*", *arguments])

    def _launch(self, node: int) -> None:
        command = ["java", "-Xmx384m", *QUICK_START, "-cp", f"{self._libs}/*", "kafka.Kafka"]
        if self._leash and shutil.which("setpriv"):
            command = ["setpriv", "--pdeathsig", "KILL", *command]
        with (self.data / f"node-{node}.out").open("ab") as output:
            process = subprocess.Popen(
                [*command, str(self._properties(node))],
                stdin=subprocess.DEVNULL, stdout=output, stderr=output, cwd=self.data, start_new_session=True,
            )  # fmt: skip
        self._processes[node] = process
        (self.data / f"node-{node}.pid").write_text(str(process.pid))

    def _wait_until_ready(self) -> None:
        ports = self._settings()["ports"]
        deadline = time.monotonic() + READY_S
        while not all(_brokers_seen_by(port) == len(ports) for port in ports.values()):
            for node in self.nodes():
                if not self.pid(node):
                    raise RuntimeError(f"broker {node} ended at once: {self.said(node)}")
            if time.monotonic() > deadline:
                said = "\n".join(f"broker {node} said last: {self.said(node)}" for node in self.nodes())
                raise RuntimeError(f"no answer after {READY_S:g} s; see {self.data}/node-*.out\n{said}")
            time.sleep(POLL_S)


def _run(command: list[str]) -> None:
    finished = subprocess.run(command, capture_output=True, text=True, check=False)
    if finished.returncode != 0:
        raise RuntimeError(f"{' '.join(command[:4])} ... failed: {(finished.stdout + finished.stderr).strip()[-600:]}")


def _cluster_id() -> str:
    while (name := base64.urlsafe_b64encode(uuid.uuid4().bytes).decode()[:22]).startswith("-"):
        pass  # such a name would be taken for an option
    return name


def _free_ports(count: int) -> list[int]:
    free = set[int]()
    while len(free) < count:
        port = random.randrange(PORTS_FROM, PORTS_BELOW)
        with socket.socket() as probe, suppress(OSError):
            probe.bind(("127.0.0.1", port))
            free.add(port)
    return sorted(free)


def _brokers_seen_by(port: int) -> int:
    """How many live brokers the one at ``port`` knows, by a metadata request of version 0; 0 without an answer."""
    request = struct.pack(">hhih5si", 3, 0, 1, 5, b"ready", 0)
    try:
        with socket.create_connection(("127.0.0.1", port), timeout=1) as connection:
            connection.sendall(struct.pack(">i", len(request)) + request)
            answer = connection.makefile("rb").read(12)
    except OSError:
        return 0
    return int(struct.unpack(">iii", answer)[2]) if len(answer) == 12 else 0


def main() -> int:
    """The command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("command", choices=("fetch", "start", "stop", "status"))
    parser.add_argument("--data", type=Path, default=Path("kafka-data"), help="folder of the brokers (./kafka-data)")
    parser.add_argument("--libs", type=Path, default=HOME / "libs", help=f"folder of the jars ({HOME}/libs)")
    parser.add_argument("--brokers", type=int, default=1, help="how many brokers a new folder is for (1)")
    parser.add_argument("--secure", default="", metavar="USER:PASSWORD", help="add a SASL_SSL listener to a new folder")
    chosen = parser.parse_args()
    kafka = LocalKafka(chosen.data, chosen.libs, chosen.brokers, chosen.secure)
    try:
        match chosen.command:
            case "fetch":
                fetch(chosen.libs)
            case "start":
                kafka.start()
                print(kafka.bootstrap)
            case "stop":
                kafka.stop()
            case "status":
                running = [node for node in kafka.nodes() if kafka.pid(node)]
                for node in kafka.nodes():
                    print(f"broker {node}: {f'runs as {kafka.pid(node)}' if node in running else 'stopped'}")
                return 0 if running else 3  # as init scripts say it
    except (Unavailable, RuntimeError) as error:
        print(error, file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
