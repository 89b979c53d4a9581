"""A fleet is upgraded process by process, and back: the last version and this one share a log, on every log.

The last version is the newest tag ``v*``, or before there is one, the commit that last_version.txt names. On PostgreSQL
this holds while both have one schema; see docs/versions.md for a version that brings a new one.
"""

import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import pytest

from callboard.testing.servers.kafka import kafka_servers
from callboard.testing.servers.postgres import postgres_server
from tests.release.environment import PINNED, ROOT, Environment, archived, built, until

LOGS = ["sqlite", pytest.param("postgres", marks=pytest.mark.postgres), pytest.param("kafka", marks=pytest.mark.kafka)]

SIDES = ("old", "new")


def last_version() -> str:
    tags = subprocess.run(
        ["git", "describe", "--tags", "--abbrev=0", "--match", "v*"], cwd=ROOT, capture_output=True, text=True,
        check=False,
    ).stdout.strip()  # fmt: skip
    return tags or PINNED.read_text(encoding="utf-8").strip()


@pytest.fixture(scope="module")
def versions(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Environment]:
    """An environment with each of the two, and the clients of all logs."""
    old = built(archived(last_version(), tmp_path_factory.mktemp("last")), tmp_path_factory.mktemp("last-dist"))
    made = {side: Environment(tmp_path_factory.mktemp(side) / "venv") for side in SIDES}
    for side, its in zip(SIDES, (old, wheel), strict=True):
        made[side].install(f"{its}[postgres,kafka]")
    return made


@pytest.fixture(params=LOGS)
def log(request: pytest.FixtureRequest) -> Iterator[str]:
    if request.param == "postgres":
        with postgres_server() as server:
            yield server.url
    elif request.param == "kafka":
        with kafka_servers() as servers:
            yield f"kafka://{servers}"
    else:
        yield "sqlite:///./board.db"


class Fleet(NamedTuple):
    """A folder with a board, and processes of both versions: for each, a subscriber and a worker with its name."""

    folder: Path
    versions: dict[str, Environment]

    def start(self, *version_of: str) -> None:
        """Start the subscriber and the worker of each name, by these versions."""
        for name, version in zip(SIDES, version_of, strict=True):
            its, denied = self.versions[version], f"for-{other_than(name)}"
            its.start(self.folder, "run", "subscriber", "--into", f"out-{name}", name)
            its.start(self.folder, "run", "worker", "service:jobs", "--deny", denied, "--member", f"worker-{name}")
        until(lambda: self.states(version_of[0]) == {"old": "idle", "new": "idle"})

    def stop(self) -> None:
        for version in self.versions.values():
            version.stop()

    def states(self, version: str) -> dict[str, str]:
        """What this version says of the subscribers."""
        return {row["name"]: row["state"] for row in self.versions[version].json(self.folder, "status")["subscribers"]}

    def ships(self, version: str, text: str) -> None:
        """This version publishes a page; both subscribers import it."""
        (self.folder / version / "page.html").write_text(text)
        words = ("--publisher", f"of-{version}", "--at", f"/{version}", "--wait", "60")
        self.versions[version].callboard(self.folder, "publish", version, *words)
        for name in SIDES:
            assert (self.folder / f"out-{name}" / version / "page.html").read_text() == text

    def commands(self, version: str, name: str) -> None:
        """This version commands a subscriber, which obeys, or the command would fail."""
        for command in ("pause", "resume"):
            assert name in self.versions[version].callboard(self.folder, command, name)

    def adds_job(self, version: str, name: str) -> str:
        """This version adds a job for the worker of this name; the environment that has run it."""
        job = self.versions[version].json(self.folder, "jobs", "add", f"for-{name}", "--wait", "60")
        assert job["state"] == "succeeded"
        return Path(job["result"]).parent.name.rstrip("0123456789")

    def pays(self, version: str, cents: int) -> int:
        """This version pays into an account, and says what is in there."""
        return int(self.versions[version].run_python(self.folder, "service.py", str(cents)))

    def edited(self, name: str, version: str) -> Path:
        """The page that this version shipped, edited at a subscriber: it stays so, unless it is imported again."""
        page = self.folder / f"out-{name}" / version / "page.html"
        page.write_text("edited")
        return page


@pytest.fixture
def fleet(versions: dict[str, Environment], log: str, tmp_path: Path) -> Iterator[Fleet]:
    (tmp_path / "callboard.toml").write_text(f'log = "{log}"\nblobs = "./blobs"\n')
    (tmp_path / "service.py").write_bytes((Path(__file__).parent / "service.py").read_bytes())
    for side in SIDES:
        (tmp_path / side).mkdir()
    it = Fleet(tmp_path, versions)
    yield it
    it.stop()


def test_a_clone_without_the_last_version_says_what_to_do(tmp_path: Path) -> None:
    with pytest.raises(AssertionError, match=r"not in this clone .*; fetch the whole history: git fetch --unshallow"):
        archived("0" * 40, tmp_path)


@pytest.mark.timeout(900)
def test_half_a_fleet_is_upgraded_then_all_of_it_and_all_goes_back(fleet: Fleet) -> None:
    fleet.versions["old"].callboard(fleet.folder, "init")
    half_and_half(fleet)
    fleet.stop()

    all_of_one_version(fleet, "new", paid=13)
    fleet.stop()

    all_of_one_version(fleet, "old", paid=26)


def half_and_half(fleet: Fleet) -> None:
    """Each subscriber and worker has the version of its name."""
    fleet.start("old", "new")
    for version in SIDES:
        fleet.ships(version, f"by the {version} version")
        assert fleet.states(version) == {"old": "idle", "new": "idle"}
        members = fleet.versions[version].json(fleet.folder, "topology")["members"]
        assert {member["instance"] for member in members} >= {"worker-old", "worker-new"}
    for version in SIDES:
        fleet.commands(version, other_than(version))
        assert fleet.adds_job(version, other_than(version)) == other_than(version)
    assert [fleet.pays("old", 5), fleet.pays("new", 7), fleet.pays("old", 1)] == [5, 12, 13]


def all_of_one_version(fleet: Fleet, version: str, paid: int) -> None:
    """All goes on where it was, whichever version has left it."""
    pages = [fleet.edited(name, other_than(version)) for name in SIDES]
    fleet.start(version, version)
    for name in SIDES:
        assert fleet.adds_job(version, name) == version
    fleet.ships(version, f"when all are of the {version} version")
    assert [page.read_text() for page in pages] == ["edited", "edited"]
    assert fleet.pays(version, 13) == paid + 13


def other_than(side: str) -> str:
    return SIDES[side == "old"]
