"""No text from the log controls the terminal: every command has to show hostile names, paths and reasons.

A new command has to be added here, by a line that has it show them, or by the reason why it shows nothing of others.
"""

import asyncio
import json
import os
import pty
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
import typer

from callboard import Callboard
from callboard.actors.jobs.jobs import At
from callboard.cli.app import app
from callboard.messages.distribution.package_event import PackageEvent, event_record
from callboard.messages.distribution.topic_messages import (
    CommandMessage,
    DiscoveryMessage,
    Kind,
    LogMessage,
    PackageMessage,
    PackageStatusMessage,
    PauseCommand,
    State,
    Status,
    SubscriberConfiguration,
    ThrottledMessage,
)
from callboard.messages.entities.entity_messages import (
    DeclaredEvent,
    EntityCommitMessage,
    FoldAnnouncementMessage,
    FoldPlace,
)
from callboard.messages.event import Event, replaced
from callboard.messages.events.event_messages import EventPublishedMessage, ListenerMark, ListenersMessage
from callboard.messages.headers import new_record
from callboard.messages.jobs.job_messages import (
    JobCommandMessage,
    JobEnd,
    JobOptions,
    JobQueue,
    JobsAddedMessage,
    JobsEndedMessage,
    JobsLeasedMessage,
    Outcome,
    ScheduleMessage,
    WorkerMessage,
)
from callboard.messages.record import NewRecord
from callboard.messages.topics import (
    CONTROL,
    SORTS,
    broadcast_topic,
    control_topic,
    entity_topic,
    job_topic,
    listener_topic,
)
from callboard.messages.topology.cluster_state import ClusterSettings
from callboard.messages.topology.control_messages import AdminMessage, JoinMessage, LeaveMessage, ProposeMessage
from tests.warm_start import WarmStart

EVIL = "e\x1b[31m\x9b2J\x07\r\nINJECTED\u202e\u2066\u200b\u2028[bold]<b>"
ODD = "e\x9b2JINJECTED\u202e\u2066\u200b\u2028[bold]<b>"
"""What a name or an id may be at worst: one with an escape sequence or a line feed is not read at all."""

SUBSCRIBER, PUBLISHER, PATH = f"edge {ODD}", f"site {ODD}", f"/{EVIL}"

PLAIN = "site"
"""A publisher whose name the command line takes."""

JOBS = "needs Java; shows what others wrote by the functions that the other commands use"
NOTHING = {
    ("demo",): "makes a board of its own", ("chaos",): "makes a board of its own", ("migrate",): "shows no record",
    ("simulate",): "makes a board of its own", ("pipeline", "demo"): "makes a board of its own",
    ("topology", "demo"): "makes a board of its own", ("jobs", "demo"): "makes a board of its own",
    ("relay", "demo"): "makes a board of its own",
    ("pipeline", "rebuild"): JOBS, ("pipeline", "queue-at"): JOBS, ("pipeline", "audit"): JOBS,
    ("pipeline", "archive"): JOBS, ("pipeline", "collect"): JOBS, ("pipeline", "export"): JOBS,
    ("jobs", "watch"): "runs on, and shows what `jobs queues` does",
    ("topology", "watch"): "runs on, and shows what `topology history` does",
    ("init",): "shows what the caller wrote", ("run", "subscriber"): "logs; see the tests of logging",
    ("run", "publisher"): "logs; see the tests of logging",
    ("run", "relay"): "logs; see the tests of logging", ("run", "worker"): "logs; see the tests of logging",
    ("run", "outbox"): "logs; see the tests of logging", ("outbox", "create"): "shows nothing of others",
    ("outbox", "status"): "needs PostgreSQL",
    ("console", "serve"): "logs, and shows pages; see tests/web",
    ("console", "add-user"): "shows what the caller wrote",
}  # fmt: skip
"""Commands that show nothing of others here, and why."""

NONE: tuple[str, ...] = ()
SHOWING: dict[tuple[str, ...], list[tuple[str, ...]]] = {
    ("status",): [NONE, ("--json",), ("--needs",)],
    ("top",): [NONE, ("--once",)],
    ("queue",): [("quiet",), ("quiet", "--json"), (SUBSCRIBER,), ("--cohort", "published", "--publisher", PUBLISHER)],
    ("errors",): [NONE, ("--json",), (SUBSCRIBER,)],
    ("events", "packages"): [("--after", "-1"), ("--after", "-1", "--json"), ("--publisher", PUBLISHER)],
    ("events", "publish"): [(EVIL,), ("a", EVIL), ("a", json.dumps({EVIL: EVIL})), ("a", json.dumps([EVIL]))],
    ("events", "listen"): [("--name", ODD, "--oldest", "--limit", "1"), ("--oldest", "--limit", "1"), (EVIL,)],
    ("events", "list"): [NONE, ("--json",), (EVIL,), ("--after", EVIL)],
    ("events", "listeners"): [NONE, ("--json",)],
    ("events", "forget"): [(ODD,), (EVIL,)],
    ("replay",): [("odd:Odd", "a"), ("odd:Odd", "a", "--json"), ("odd:Odd", EVIL), (EVIL, "a"), (f"odd:{EVIL}", "a"),
                  ("odd:Rows", "a"), ("odd:Rows", EVIL), ("odd:Odd", "b")],
    ("publisher-log",): [(PUBLISHER,), (PLAIN,), (PLAIN, "--details"), (PLAIN, "--json")],
    ("ready",): [("quiet",), (SUBSCRIBER,), ("quiet", "--json")],
    ("metrics",): [NONE],
    ("doctor",): [NONE, ("--all",), ("--json",)],
    ("explain",): [("quiet", "/a"), (SUBSCRIBER, PATH), ("quiet", "/a", "--json")],
    ("log", "list"): [(*words, "--topic", topic) for topic in (*SORTS, CONTROL, "job", "broadcast", "listener")
                      for words in (NONE, ("--json",))],
    ("log", "grep"): [("INJ",), (EVIL,), ("INJ", "--json")],
    ("log", "show"): [(f"callboard.{topic}@1", *words) for topic in SORTS
                      for words in (NONE, ("--json",))],
    ("log", "export"): [("--ndjson", "-"), ("1", "content"), ("--ndjson", f"{EVIL}.json")],
    ("log", "resend"): [("1",), ("2", "--force", "--to", SUBSCRIBER)],
    ("log", "trim"): [("--below", "5", "--dry-run"), ("--below", "5"), ("--below", "5", "--dry-run", "--json")],
    ("clear",): [(SUBSCRIBER, "--yes", "--wait", "0"), ("quiet", "--yes", "--wait", "0"), ("quiet",)],
    **{(name,): [(SUBSCRIBER, "--wait", "0"), ("quiet", "--wait", "0"), ("quiet", "--wait", "0", "--json")]
       for name in ("retry", "skip", "pause", "resume")},
    ("throttle",): [("quiet", "5", "--wait", "0"), (SUBSCRIBER, "5", "--wait", "0")],
    ("forget",): [("quiet",), (SUBSCRIBER,), ("nobody",)],
    ("verify",): [("quiet", "--wait", "0"), (SUBSCRIBER,)],
    ("repair",): [("quiet", "--wait", "0"), (SUBSCRIBER,)],
    ("seed",): [("new", "--into", EVIL, "--from", EVIL)],
    ("snapshot",): [(EVIL, EVIL)],
    ("reset",): [(EVIL, "--yes")],
    ("blobs", "collect"): [NONE, ("--json",)],
    ("publish",): [(EVIL,), ("tree", PATH), ("tree", "--publisher", PUBLISHER)],
    ("delete",): [(PATH,), (PATH, "--publisher", PUBLISHER)],
    ("invalidate",): [(PATH,), ("relative",)],
    ("test",): [("--publisher", PUBLISHER), ("--to", SUBSCRIBER)],
    ("topology", "show"): [NONE, ("--details",), ("--json",)],
    ("topology", "history"): [NONE, ("--json",)],
    ("topology", "explain"): [("3",), ("9",), ("9", "--json"), ("5",)],
    ("topology", "evict"): [(EVIL,), ("b",)],
    ("topology", "drain"): [(EVIL,), ("a", "--reason", EVIL, "--author", EVIL), ("a", "--undo", "--json")],
    ("topology", "transfer"): [(EVIL,), ("a",)],
    ("topology", "freeze"): [("--reason", EVIL), ("--undo", "--author", EVIL)],
    ("topology", "configure"): [("--gap-ms", "4000"), ("--gap-ms", "9000")],
    ("jobs", "list"): [NONE, ("--all",), ("--all", "--json")],
    ("jobs", "show"): [("1024",), ("1025",), ("1024", "--json")],
    ("jobs", "history"): [("1024",), ("1024", "--json"), ("7",)],
    ("jobs", "events"): [("--once",), ("--once", "--json"), ("--once", "--topic", EVIL), ("--once", "--after", EVIL)],
    ("jobs", "queues"): [NONE, ("--json",)],
    ("jobs", "workers"): [NONE, ("--json",)],
    ("jobs", "stats"): [NONE, ("--json",)],
    ("jobs", "drop-all"): [("--queue", EVIL), ("--topic", EVIL), ("--where", EVIL)],
    ("jobs", "retry-all"): [("--queue", ODD), ("--where", EVIL)],
    ("jobs", "clear"): [(ODD,), (EVIL,)],
    ("jobs", "add"): [("a", EVIL), (EVIL,), ("a", "1", "--unique", ODD), ("a", "--title", EVIL)],
    ("jobs", "stop"): [("1025", "--reason", EVIL, "--author", EVIL)],
    ("jobs", "drop"): [("1024",)],
    ("jobs", "retry"): [("1024",), ("1025",)],
    ("jobs", "suspend"): [(EVIL,), (ODD,), (ODD, "--json")],
    ("jobs", "resume"): [(EVIL,), (ODD,)],
    ("jobs", "configure"): [(ODD, "a"), (EVIL, "a"), ("x", EVIL)],
    ("schedules", "list"): [NONE, ("--json",), ("--topic", EVIL)],
    ("schedules", "next"): [(ODD,), (EVIL,)],
    ("schedules", "set"): [(ODD, "a", "--every", "9"), (EVIL, "a", "--every", "9"), ("x", EVIL, "--every", "9"),
                           ("x", "a", "--at", EVIL), ("x", "a", "--cron", EVIL), ("x", "a", "--cron", "0 * * * *",
                           "--zone", EVIL), (ODD, "a", "--every", "9", "--json")],
    **{("schedules", name): [(ODD,), (EVIL,)] for name in ("run", "suspend", "resume", "remove")},
    **{("archive", name): [("--archive", EVIL)] for name in ("run", "status", "verify", "compact", "restore")},
}  # fmt: skip


def commands(group: object, *words: str) -> Iterator[tuple[str, ...]]:
    for name, command in group.commands.items():  # type: ignore[attr-defined]
        yield from commands(command, *words, name) if hasattr(command, "commands") else [(*words, name)]


def messages(log_id: str) -> Iterator[tuple[str, Event]]:
    """What a hostile publisher and a hostile subscriber write."""
    for publisher in (PUBLISHER, PLAIN) * 3:
        yield "package", PackageMessage(
            publisher_instance=ODD, publisher=publisher, package_id=f"id {ODD}", kind=Kind.DELETE, paths=(PATH, "/a"),
            deep_paths=(PATH, "/a"), user=f"user {EVIL}", metadata=((EVIL, EVIL),), request_id=ODD,
        )  # fmt: skip
    now_ns = time.time_ns()
    for name, state in ((SUBSCRIBER, State.RETRYING), ("quiet", State.PAUSED), ("gone", State.GAP)):
        yield "discovery", DiscoveryMessage(
            subscriber_instance=ODD, subscriber=name, state=state, reason=EVIL, offset=1, log_id=log_id, attempts=5,
            last_error=f"no {EVIL}", host=EVIL, version=EVIL, time_ns=now_ns, since_ns=now_ns, head_offset=2,
            head_package=ODD, ready_reason=EVIL, announce_interval_ms=300_000, hook_offset=1, hook_attempts=9,
            hook_error=EVIL, hooks=1, held=1, held_offset=1, left=(1,),
            configuration=SubscriberConfiguration(
                editable=True, max_retries=9, repository=EVIL, golden=ODD if name == "gone" else "",
            ),
        )  # fmt: skip
        for number, status in enumerate((Status.REMOVED_FAILED, Status.HELD, Status.HOOK_FAILED)):
            yield "status", PackageStatusMessage(
                subscriber_instance=ODD, subscriber=name, publisher=PUBLISHER, offset=1 + number, status=status,
                reason=f"because {EVIL}", attempts=3, package_id=ODD, sequence=number + 1, time_ns=now_ns,
            )  # fmt: skip
        yield (
            "discovery",
            LogMessage(
                publisher=PLAIN, subscriber_instance=ODD, subscriber=name, message=EVIL, stacktrace=f"{EVIL}\n{EVIL}"
            ),
        )
    yield (
        "discovery",
        ThrottledMessage(
            publisher=PUBLISHER, publisher_instance=ODD, subscriber=SUBSCRIBER, backlog=9, waiting=1, time_ns=now_ns
        ),
    )
    for state in ("stopped", ODD):
        yield "discovery", FoldAnnouncementMessage(
            kind=ODD, name=ODD, instance=ODD, incarnation=f"{state} {ODD}", state=state, problem=EVIL, unreadable=1,
            troubles=(EVIL, EVIL), refused=1, interval_s=15, places=(FoldPlace(topic=ODD), FoldPlace(topic="../x")),
        )  # fmt: skip
    yield "command", CommandMessage(
        subscriber_instance=ODD, subscriber="quiet", publisher=PUBLISHER, command_id=ODD, author=EVIL, reason=EVIL,
        log_id=log_id, pause=PauseCommand(),
    )  # fmt: skip


def cluster() -> Iterator[Event]:
    """What a hostile member and a hostile operator write. Names that are not plain are not read at all."""
    yield AdminMessage(
        instance="x", incarnation="x1", seq=1, base=-1, author=EVIL, reason=EVIL,
        configure=ClusterSettings(cluster_id="c"),
    )  # fmt: skip
    yield JoinMessage(instance="a", incarnation="a1", seq=1, properties=(("url", EVIL),))
    yield JoinMessage(instance=ODD, incarnation="a1", seq=1)
    yield JoinMessage(instance="b", incarnation="b1", seq=1)
    yield LeaveMessage(instance="b", incarnation="b1", seq=2, reason=EVIL)
    yield ProposeMessage(instance="a", incarnation="a1", seq=2, base_epoch=1, remove=("a",), reason=EVIL)


def jobs() -> Iterator[Event]:
    """What a hostile program and a hostile worker write: two jobs, the first of which has ended."""
    yield JobsAddedMessage(
        request=ODD, creator=ODD, topics=("a",), topic_of=(0, 0), payloads=(json.dumps(EVIL).encode(), EVIL.encode()),
        options=(JobOptions(job=0, lane=ODD, unique=ODD, title=ODD), JobOptions(job=1, title=ODD)),
    )  # fmt: skip
    yield WorkerMessage(instance=ODD, incarnation=ODD, slots=2, topics=("a",))
    yield JobsLeasedMessage(cluster_log=ODD, epoch=1, dispatcher=ODD)
    yield JobsLeasedMessage(
        cluster_log=ODD, epoch=1, dispatcher=ODD, workers=(ODD,), worker_of=(0, 0), jobs=(1024, 1025),
        read_to=3,
    )  # fmt: skip
    yield JobsEndedMessage(
        worker=ODD, jobs=(1024,), leases=(4,), outcomes=(int(Outcome.CANCELLED),), run_ms=(1,),
        ends=(JobEnd(job=0, message=EVIL, result=json.dumps(EVIL).encode()),),
    )  # fmt: skip
    yield JobCommandMessage(author=EVIL, reason=EVIL, configure=JobQueue(name=ODD, topics=("b",)))
    yield ScheduleMessage(name=ODD, author=EVIL, topic="a", every_ms=1000)


ENTITIES = f"""
from callboard.actors import Ask, Event, Process, Projection, event

EVIL = {EVIL!r}


@event("odd.said", version=1)
class Said(Event):
    text: str = ""


@event("odd.odd", version=1)
class Odd(Process):
    text: str = ""

    def decide(self, command, facts):
        return []

    def evolve(self, event):
        return Odd(text=event.text)

    def todo(self, key):
        if self.text == "fail":
            raise ValueError(EVIL)
        return [Ask(EVIL, Odd, EVIL, Said(text=EVIL))]


class Rows(Projection[Said]):
    sources = (Odd,)

    def keys(self, recorded):
        return ["a", EVIL]

    def evolve(self, key, row, recorded):
        return recorded.event
"""
"""A module of a service."""


def commits() -> Iterator[Event]:
    """What hostile clients have services write, and one that writes itself."""
    said = EVIL.encode()
    events = [DeclaredEvent(name="odd.said", version=1, payload=bytes((10, len(said))) + said)]
    events += [DeclaredEvent(name="odd.said", version=1, payload=b"\x0a\x04fail"), DeclaredEvent(name=ODD, version=1)]
    for key in ("a", "b", ODD):
        for number, each in enumerate(events[: 2 if key == "b" else 3]):
            yield EntityCommitMessage(
                key=key, commit_id=number + 1, previous=number, version=number, command_id=ODD, events=(each,),
                reason=EVIL, code=ODD,
            )  # fmt: skip


async def write(folder: Path) -> None:
    """Write it all directly to the log, as an attacker would."""
    async with Callboard("sqlite:///./board.db", base=folder) as board:
        topics, log = board.settings.topics, board.log
        log_id = await log.identity(topics.package)
        for number, (topic, message) in enumerate(messages(log_id)):
            record = new_record(message, record_id=f"{number}{EVIL}", time_ns=time.time_ns(), producer=EVIL, cause=EVIL)
            await log.append(getattr(topics, topic), [record])
        await log.ensure(control_topic())
        for member_event in cluster():
            record = new_record(member_event, record_id=EVIL, time_ns=time.time_ns(), producer=EVIL)
            await log.append(control_topic(), [record, NewRecord(payload=b"", headers=(("type", ODD),))])
        await log.ensure(job_topic())
        for said in jobs():
            its: Event = said
            if isinstance(said, JobsLeasedMessage) and said.jobs:
                [last] = await log.read(job_topic(), 3, 1)
                its = replaced(said, read_ms=last.time_ns // 1_000_000)
            if isinstance(said, JobsEndedMessage):
                [leased] = await log.read(job_topic(), 4, 1)
                its = replaced(said, leases=(At(4, leased.time_ns // 1_000_000).lease,))
            record = new_record(its, record_id=EVIL, time_ns=time.time_ns(), producer=EVIL)
            await log.append(job_topic(), [record])
        await log.ensure(entity_topic("odd.odd"))
        for entity in commits():
            record = new_record(entity, record_id=EVIL, time_ns=time.time_ns(), producer=EVIL)
            await log.append(entity_topic("odd.odd"), [record])
        mark = ListenerMark(name=ODD, topics=(ODD,), log_id=ODD, reason=EVIL, attempts=1, given_up=1)
        published = EventPublishedMessage(
            topic="a", properties=json.dumps({EVIL: EVIL}).encode(), instance=ODD, incarnation=ODD
        )
        for topic, message in ((broadcast_topic(), published), (listener_topic(), ListenersMessage(marks=(mark,)))):
            await log.ensure(topic)
            await log.append(topic, [new_record(message, record_id=EVIL, time_ns=time.time_ns(), producer=EVIL)])
        event = PackageEvent(
            kind="failed", publisher=PUBLISHER, package_id=ODD, deep_paths=(PATH,), paths=(PATH,), offset=1,
            dedup_key=ODD, log_id=log_id, time_ns=time.time_ns(), user=EVIL, subscriber=SUBSCRIBER, outcome="REMOVED",
            reason=EVIL,
        )  # fmt: skip
        await log.append(topics.event, [event_record(event, time.time_ns(), EVIL)])


@pytest.fixture(scope="module")
def board(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("others")
    (folder / "tree" / "sub").mkdir(parents=True)
    (folder / "tree" / EVIL).write_text("hello")
    (folder / "callboard.toml").write_text(f"[subscribers.quiet]\ninto = {json.dumps(EVIL)}\n", encoding="utf-8")
    (folder / "odd.py").write_text(ENTITIES, encoding="utf-8")
    asyncio.run(write(folder))
    return folder


def hidden(shown: str) -> list[str]:
    """The lines with invisible text, or from another author."""
    lines = shown.split("\n")
    return [line for line in lines if not line.isprintable() or line.strip().startswith(("INJECTED", "\\nINJECTED"))]


@pytest.fixture(scope="module")
def typed(board: Path, warm_start: WarmStart) -> Callable[..., subprocess.CompletedProcess[str]]:
    def run(*words: str) -> subprocess.CompletedProcess[str]:
        done = warm_start.run(words, board, os.environ, "", 120)
        assert done.returncode != 70, done.stderr
        return done

    return run


def test_every_command_is_tested_with_hostile_text():
    known = set(commands(typer.main.get_command(app)))
    assert known == SHOWING.keys() | NOTHING.keys()
    assert not SHOWING.keys() & NOTHING.keys()


def test_the_hostile_jobs_are_read(typed):
    listed = json.loads(typed("jobs", "list", "--all", "--json").stdout)["data"]["items"][:2]
    assert [(job["id"], job["state"], job["worker"]) for job in listed] == [(1024, "error", ""), (1025, "active", ODD)]
    assert json.loads(typed("jobs", "show", "1024", "--json").stdout)["data"]["message"] == EVIL


@pytest.mark.parametrize("command", SHOWING, ids=" ".join)
def test_no_command_prints_terminal_control_sequences(typed, command):
    for words in SHOWING[command]:
        done = typed(*command, *words)
        for shown in (done.stdout, done.stderr):
            assert hidden(shown) == [], words
            assert "Traceback" not in shown
        if "--json" in words:
            assert json.loads(done.stdout)["version"] == 1


@pytest.mark.parametrize(
    "words",
    [("status",), ("errors",), ("queue", "quiet"), ("log", "list"), ("log", "show", "1"), ("doctor",), ("metrics",),
     ("publisher-log", PLAIN), ("events", "--after", "-1"), ("topology", "--details"), ("topology", "history"),
     ("topology", "explain", "9"), ("log", "list", "--topic", CONTROL)],
    ids=" ".join,
)  # fmt: skip
def test_hostile_text_is_shown_escaped_and_not_left_out(typed, words):
    done = typed(*words)
    assert "\\u202e" in done.stdout, done.stderr
    assert "[bold]<b>" in done.stdout


@pytest.mark.parametrize("words", [("status",), ("errors",), ("log", "list"), ("doctor",)], ids=" ".join)
def test_a_terminal_gets_only_text(board, words):
    ours, theirs = pty.openpty()
    environ = os.environ | {"TERM": "dumb", "NO_COLOR": "1", "COLUMNS": "300"}
    with os.fdopen(theirs, "wb") as screen:
        process = subprocess.Popen([sys.executable, "-m", "callboard", *words], cwd=board, env=environ, stdout=screen,
                                   stderr=screen, stdin=subprocess.DEVNULL)  # fmt: skip
    shown = b""
    while True:
        try:
            chunk = os.read(ours, 65536)
        except OSError:  # how Linux says that no process has the terminal open any more
            break
        shown += chunk
    os.close(ours)
    assert process.wait(60) in (0, 1)
    assert hidden(shown.decode().replace("\r\n", "\n")) == []
    assert b"u202e" in shown
