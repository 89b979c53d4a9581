"""Every option and argument from outside is checked before any actor sees it."""

import asyncio
import math
import re
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any, get_type_hints

import pytest

from callboard import Callboard, Publishing, SigningKey
from callboard.actors.core.backoff import Backoff
from callboard.backends.log import Retention
from callboard.board.care.retention_gate import GatePolicy
from callboard.board.command.commands import CommandOptions
from callboard.board.connect.subscriber_options import SubscriberOptions
from callboard.board.publisher import Publisher, RequestOptions
from callboard.door import boards, questions, requests, subscribers
from callboard.door.rules import Unfit, checked, number, shown
from callboard.errors import ConfigError, RequestRefused

HUGE = 1 << 64

SUBSCRIBER = [
    ("follows", "site"),
    ("follows", ["a/b"]),
    ("follows", {"site": 1}),
    ("on_occupied", "remove it"),
    ("include", "*.html"),
    ("exclude", ["/"]),
    ("exclude", ["/a/../b"]),
    ("expect", "yes"),
    ("on_occupied", "always"),
    ("editable", "no"),
    ("max_retries", "3"),
    ("max_retries", True),
    ("max_retries", -2),
    ("max_retries", HUGE),
    ("on_give_up", "explode"),
    ("coalesce", 1),
    ("parallel", 0),
    ("start", "nonsense"),
    ("start", -1),
    ("start", HUGE),
    ("start", True),
    ("on_gap", "reseed"),
    ("on_undecodable", None),
    ("golden", 7),
    ("skip_commands", [-1]),
    ("skip_commands", 3),
    ("retry", 1.0),
    ("retry", Backoff(0, 1)),
    ("retry", Backoff(2, 1)),
    ("retry", Backoff(math.nan, 1)),
    ("retry", Backoff("1", 2)),  # type: ignore[arg-type]
    ("retry", Backoff(1, 2, jitter=-1)),
    ("announce_interval_s", 0),
    ("announce_interval_s", math.nan),
    ("announce_interval_s", math.inf),
    ("claim_ttl_s", -3.0),
    ("outbox_max", 0),
    ("standby", "yes"),
    ("before_import", 3),
    ("before_import", "shop"),
    ("before_import", ":purge"),
    ("after_import", "shop:"),
    ("after_import", "a\0b"),
    ("on_invalidate", None),
    ("hook_timeout_s", 0),
    ("hook_max_retries", 1.5),
    ("ready_idle_s", -1),
    ("ready_max_age_s", "1"),
    ("ready_force_s", math.nan),
    ("stop_drain_s", math.inf),
]

REQUEST = [
    ("request_id", "a\0b"),
    ("request_id", "a\nb"),
    ("request_id", "r" * 201),
    ("request_id", "\udc80"),
    ("request_id", 7),
    ("expect", 1),
    ("recipients", "edge-1"),
    ("recipients", b"edge-1"),
    ("recipients", [""]),
    ("recipients", ["a\0"]),
    ("recipients", None),
    ("user", "\0"),
    ("user", 1),
    ("metadata", {"ticket": 7}),
    ("metadata", {7: "ticket"}),
    ("metadata", {"": "x"}),
    ("metadata", {"k": "\udc80"}),
    ("metadata", {"k": "x" * 10_001}),
    ("metadata", [("ticket", "7")]),
    ("metadata", {str(number): "" for number in range(1001)}),
    ("timeout_s", math.nan),
    ("timeout_s", -1),
    ("timeout_s", "1"),
    ("timeout_s", True),
]

PUBLISHING = [
    ("max_package_mb", 0),
    ("max_package_mb", 1e10),
    ("throttle_by", "all of them"),
    ("throttle_for", "edge-1"),
    ("throttle_at", 0),
    ("throttle_at", 2.5),
    ("throttle_max_s", math.inf),
    ("events", "created"),
    ("events", ["exploded"]),
]

BOARD = [
    ("log", ""),
    ("log", 7),
    ("blobs", None),
    ("base", 7),
    ("runtime", "threads"),
    ("create", "yes"),
    ("configure_logging", "debug"),
    ("prefix", "Ä"),
    ("include", ["/a//b"]),
    ("exclude", "*.tmp"),
    ("signing_key", "NAME=FILE"),
    ("trusted_keys", ["NAME=FILE"]),
    ("trusted_keys", SigningKey("ops", b"0" * 16)),
    ("blob_grace_s", -1),
    ("blob_grace_s", 60),
    ("publishing", {"throttle_at": 1}),
    ("archive", 1),
    ("blobs_for", None),
    ("job_context", "request_id"),
    ("job_context", [""]),
]

OPTIONS = [
    ("reason", "\0"), ("reason", None), ("author", 7), ("force", "no"), ("timeout_s", math.nan), ("timeout_s", -1),
]  # fmt: skip


def test_addresses_of_a_board_may_be_path_objects(tmp_path: Path) -> None:
    board = Callboard(blobs=tmp_path / "blobs", archive=tmp_path / "archive")
    assert (board.settings.blobs, board.settings.blobs_for) == (str(tmp_path / "blobs"), str(tmp_path / "archive"))
    assert Callboard(Path("x")).settings.log == "x"


@pytest.mark.parametrize(("option", "value"), SUBSCRIBER, ids=str)
def test_an_invalid_option_of_a_subscriber_is_refused_by_name(option: str, value: Any) -> None:
    options: Any = {option: value}
    with pytest.raises(ConfigError, match=rf"^{option}.* should be "):
        Callboard("memory:").subscriber("edge-1", "./out", **options)


@pytest.mark.parametrize(("option", "value"), PUBLISHING, ids=str)
def test_options_of_publishers_are_checked_when_they_are_given(option: str, value: Any) -> None:
    options: Any = {option: value}
    with pytest.raises(ConfigError, match=rf"^{option}.* should be "):
        Publishing(**options)


@pytest.mark.parametrize(("option", "value"), BOARD, ids=str)
def test_an_invalid_option_of_a_board_is_refused(option: str, value: Any) -> None:
    options: Any = {"log": "memory:"} | {option: value}
    with pytest.raises(ConfigError, match=rf"^{option}.* should be |cannot be the name of a topic"):
        Callboard(**options)


@pytest.mark.parametrize("name", ["", " ", "a/b", "a\nb", "a\0", "x" * 101, 7, None, b"edge", "\u202eegde", "\udc80"])
def test_an_unprintable_name_is_refused(name: Any) -> None:
    board = Callboard("memory:")
    for give in (lambda: board.subscriber(name, "./out"), lambda: board.publisher(name)):
        with pytest.raises(ConfigError, match=r"^name is .* should be a name"):
            give()


Of = Callable[[Publisher], Awaitable[Any]]

KINDS: dict[str, Callable[..., Of]] = {
    "publish": lambda **said: lambda of: of.publish("./site", **said),
    "delete": lambda **said: lambda of: of.delete(["/a"], **said),
    "invalidate": lambda **said: lambda of: of.invalidate(["/a"], **said),
    "test": lambda **said: lambda of: of.test(**said),
}


def test_an_invalid_option_of_a_request_is_refused_before_a_publisher_starts() -> None:
    async def scenario() -> None:
        async with Callboard("memory:") as board:
            of = board.publisher("site")
            for option, value in REQUEST:
                for kind in KINDS.values():
                    with pytest.raises(RequestRefused, match=rf"^{option}.* should be "):
                        await kind(**{option: value})(of)
            for paths in ("/a", b"/a", 7, {"/a": 1}, [7], ["a"], ["/../a"], ["/" + "x" * 5000], ["/\0"], [], None):
                for request in (of.publish("./site", paths), of.delete(paths), of.invalidate(paths)):  # type: ignore[arg-type]
                    with pytest.raises(RequestRefused):
                        await request
            for source in ("", 7, None, "a\0b", Path("\udc80")):
                with pytest.raises(RequestRefused, match=r"^source is"):
                    await of.publish(source)  # type: ignore[arg-type]
            with pytest.raises(RequestRefused, match=r"^deep is 'no', but should be True or False"):
                await of.publish("./site", deep="no")  # type: ignore[arg-type]
            assert not board.context.agents.publishers

    asyncio.run(scenario())


ASKED: list[tuple[str, Callable[[Callboard], Any]]] = [
    ("subscriber", lambda board: board.queue(7)),
    ("subscriber", lambda board: board.queue("")),
    ("cursor", lambda board: board.queue("edge-1", cursor=7)),
    ("limit", lambda board: board.queue("edge-1", limit=HUGE)),
    ("limit", lambda board: board.errors(limit="1")),
    ("subscriber", lambda board: board.errors(0)),
    ("publisher", lambda board: board.errors("", ["site"])),
    ("timeout_s", lambda board: board.status(math.nan)),
    ("timeout_s", lambda board: board.metrics(None)),
    ("publisher", lambda board: board.cohorts(None)),
    ("entry", lambda board: board.queue_entry(17)),
    ("subscriber", lambda board: board.forget_subscriber(None)),
    ("reason", lambda board: board.forget_subscriber("edge-1", reason="a\0b")),
    ("kinds", lambda board: board.events(kinds="created")),
    ("kinds[0]", lambda board: board.events(kinds=["exploded"])),
    ("after", lambda board: board.events(after=-2)),
    ("up_to", lambda board: board.clear("edge-1", up_to=-1)),
    ("up_to", lambda board: board.clear("edge-1", up_to=HUGE)),
    ("first", lambda board: board.clear("edge-1", first=0)),
    ("publisher", lambda board: board.clear_all(3)),
    ("offset", lambda board: board.retry("edge-1", -1)),
    ("without_golden", lambda board: board.retry("edge-1", without_golden=1)),
    ("offset", lambda board: board.skip("edge-1", True)),
    ("subscriber", lambda board: board.pause("", force=True)),
    ("subscriber", lambda board: board.resume("a\nb", force=True)),
    ("packages_per_min", lambda board: board.throttle("edge-1", -1)),
    ("packages_per_min", lambda board: board.throttle("edge-1", 1_000_001, force=True)),
    ("paths", lambda board: board.list_content("edge-1", "/a")),
    ("path", lambda board: board.explain("edge-1", 7)),
    ("paths[0]", lambda board: board.verify("edge-1", 7)),
    ("found", lambda board: board.repair("edge-1", None)),
    ("offset", lambda board: board.resend(None)),
    ("to", lambda board: board.resend(1, to="edge-1")),
    ("grace_s", lambda board: board.collect_blobs(delete=False, grace_s=1)),
    ("retention", lambda board: board.trim(None)),
    ("retention.older_than_s", lambda board: board.trim(Retention(older_than_s=math.nan))),
    ("gate", lambda board: board.trim(Retention(), "none")),
    ("policy.archive_tip", lambda board: board.retention_gate(GatePolicy("archive", None, "./tip"))),  # type: ignore[arg-type]
    ("policy.kind", lambda board: board.retention_gate(GatePolicy("some"))),  # type: ignore[arg-type]
    ("limit", lambda board: board.publisher("site").log(-1)),
    ("timeout_s", lambda board: board.publisher("site").packages(math.inf)),
    ("timeout_s", lambda board: board.subscriber("edge-1", "./out").caught_up(-1)),
    ("timeout_s", lambda board: board.subscriber("edge-1", "./out").report("1")),
    ("timeout_s", lambda board: board.subscriber("edge-1", "./out").until_ready(math.nan)),
    ("drain_s", lambda board: board.subscriber("edge-1", "./out").stop(-1)),
    ("instance", lambda board: board.topology.evict(["a"])),
    ("instance", lambda board: board.topology.transfer({})),
    ("instance", lambda board: board.topology.drain(object())),
    ("undo", lambda board: board.topology.drain("a", undo="no")),
    ("undo", lambda board: board.topology.freeze(undo="no")),
    ("settings", lambda board: board.topology.configure(None)),
    ("settings", lambda board: board.topology.configure("lease_ms")),
    ("epoch", lambda board: board.topology.explain(-1)),
    ("names", lambda board: board.member().add_provider("load", len)),
    ("names", lambda board: board.member().add_provider(None, len)),
    ("names[0]", lambda board: board.member().add_provider([7], len)),
    ("callback", lambda board: board.member().remove_listener([])),
    ("remote", lambda board: board.member().use_remote(None)),
    ("token", lambda board: board.member().holds(None)),
    ("token", lambda board: board.member().holds(7)),
]


def test_arguments_of_queries_are_checked_before_an_actor_starts() -> None:
    async def scenario() -> None:
        async with Callboard("memory:") as board:
            for argument, ask in ASKED:
                with pytest.raises(RequestRefused, match=f"^{re.escape(argument)} is .* should be "):
                    await ask(board)
            for option, value in OPTIONS:
                for order in (board.retry, board.skip, board.pause, board.resume):
                    with pytest.raises(RequestRefused, match=f"^{option} is .* should be "):
                        await order("edge-1", **{option: value})  # type: ignore[arg-type]
            with pytest.raises(RequestRefused, match="give one of them"):
                await board.clear("edge-1", up_to=3, first=3)
            assert not board.context.agents.publishers
            assert not board.context.agents.started

    asyncio.run(scenario())


def test_an_unknown_option_is_not_ignored_silently() -> None:
    async def scenario() -> None:
        async with Callboard("memory:") as board:
            with pytest.raises(TypeError, match="there is no 'recipient'; did you mean recipients"):
                await board.publisher("site").test(recipient=["edge-1"])  # type: ignore[call-arg]
            with pytest.raises(TypeError, match="there is no 'timeout'; did you mean timeout_s"):
                await board.pause("edge-1", timeout=1)  # type: ignore[call-arg]
            with pytest.raises(TypeError, match="there is no 1; known here: lease_ms"):
                await board.topology.configure({1: 1})  # type: ignore[dict-item]
            with pytest.raises(TypeError, match="there is no 'follow'; did you mean follows"):
                board.subscriber("edge-1", "./out", follow=["site"])  # type: ignore[call-arg]

    asyncio.run(scenario())


def test_every_option_has_its_rule() -> None:
    assert set(requests.OPTIONS) == set(get_type_hints(RequestOptions))
    assert set(subscribers.OPTIONS) == set(get_type_hints(SubscriberOptions))
    assert set(questions.COMMAND_OPTIONS) == set(get_type_hints(CommandOptions))
    assert set(boards.PUBLISHING) == set(Publishing.__dataclass_fields__)
    assert {option for option, _ in SUBSCRIBER} == set(subscribers.OPTIONS)
    assert {option for option, _ in REQUEST} == set(requests.OPTIONS)
    assert {option for option, _ in BOARD} == {*boards.OPTIONS, "publishing"}


def test_any_iterable_is_accepted_as_a_collection() -> None:
    taken = requests.request({"paths": (path for path in ("/a", "/b"))}, {"recipients": {"edge-1"}})
    assert taken == {"paths": ("/a", "/b"), "recipients": ("edge-1",)}


def test_an_endless_collection_is_refused_as_too_long() -> None:
    def endless() -> Any:
        while True:
            yield "edge-1"

    with pytest.raises(RequestRefused, match="a list of 10000 at most"):
        requests.request({}, {"recipients": endless()})


def test_a_value_is_shown_shortened_and_escaped() -> None:
    assert shown("x" * 1000) == "'" + "x" * 27 + "..." + "x" * 28 + "'"
    assert shown("\x1b[2J\u202e") == r"'\x1b[2J\u202e'"
    assert shown(10**5000) == "16610 bits long"
    assert len(shown([["x" * 1000] * 1000] * 1000)) == 100

    class Rude:
        def __repr__(self) -> str:
            raise RuntimeError

    assert shown(Rude()).startswith("<Rude instance at")
    with pytest.raises(Unfit):
        number(0, 1)(Rude())
    with pytest.raises(ConfigError, match=r"^a is <Rude"):
        checked(ConfigError, {"a": number(0, 1)}, {"a": Rude()})
