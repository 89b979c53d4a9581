"""Visitors of each host see a release as soon as the host has all of it, also after kills."""

import os
import re
import signal
import time
from collections.abc import Callable
from pathlib import Path

from callboard.testing.servers.network import free_port
from tests.e2e.examples.reader import Reader, text


def subscriber_of(host: int) -> int:
    """The process of ``callboard run subscriber`` on a host; 0 if there is none."""
    for each in Path(f"/proc/{host}/task/{host}/children").read_text().split():
        if "subscriber" in Path(f"/proc/{each}/cmdline").read_text():
            return int(each)
    return 0


def test_a_release_is_on_all_hosts_though_processes_are_killed(reader: Callable[[str], Reader]) -> None:
    its = reader("static_hosts")
    texts = its.folder / "texts"
    texts.mkdir()
    (texts / "rain.txt").write_text("It rains.")
    its.run("python", "build.py")
    publisher = its.start("./publish.sh")
    ports = {name: free_port() for name in ("a", "b")}
    hosts = {name: its.start("./host.sh", name, str(port)) for name, port in ports.items()}
    pages = {name: f"http://127.0.0.1:{port}/rain.html" for name, port in ports.items()}
    its.until(lambda: all("It rains." in text(page) for page in pages.values()))

    os.kill(its.until(lambda: subscriber_of(hosts["a"].pid)), signal.SIGKILL)
    publisher.kill()
    publisher.wait()
    (texts / "rain.txt").write_text("It snows.")
    built = its.run("python", "build.py").strip()
    its.start("./publish.sh")
    its.until(lambda: all("It snows." in text(page) for page in pages.values()))
    for name in hosts:
        current = its.folder / "hosts" / name / "current"
        assert current.resolve() == its.folder / "hosts" / name / "content" / "releases" / Path(built).name
        assert not current.with_name("current.new").is_symlink()


def test_no_visitor_sees_half_of_a_release(reader: Callable[[str], Reader]) -> None:
    its = reader("static_hosts")
    (its.folder / "texts").mkdir()

    def build(version: int) -> None:
        for number in range(20):
            (its.folder / "texts" / f"{number}.txt").write_text(f"version {version}")
        its.run("python", "build.py")

    build(0)
    its.start("./publish.sh")
    its.start("./host.sh", "a", str(free_port()))
    current, seen = its.folder / "hosts" / "a" / "current", set[str]()
    its.until(current.exists)
    for version in range(1, 4):
        build(version)
        end_s = time.monotonic() + 60
        while f"version {version}" not in seen:
            assert time.monotonic() < end_s, its.said
            release = current.resolve()
            found = {re.sub(r"<h1>.*|</?p>|\n", "", page.read_text()) for page in release.glob("[0-9]*.html")}
            assert len(found) == 1, f"{release} has {found}"
            seen |= found
