from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from callboard.actors.core.decision import (
    After,
    Done,
    Effect,
    Failed,
    Input,
    Moment,
    Origin,
    Reply,
    Started,
    Stopped,
    Stopping,
    Tick,
)
from callboard.actors.core.effects import Append, FindBounds, LogRead, ReadLog, TopicBounds
from callboard.actors.publisher.effects import BuildPackage
from callboard.actors.publisher.intake.distributor import Distributor, DistributorSettings
from callboard.errors import BlobUnavailable, LogUnavailable, RecordTooLarge, RequestRefused
from callboard.messages.distribution.mailbox import DistributeRequest, DistributeResponse
from callboard.messages.distribution.topic_messages import Kind, PackageMessage
from callboard.messages.headers import new_record, open_record
from callboard.messages.record import Record

NOW = Moment(1000, 0.0)


def distributor(**bounds: int) -> Distributor:
    return Distributor(DistributorSettings("p", "site", "i1", "site/i1", **bounds), Random(1))


def tell(it: Distributor, message: Input, asker: int = 0) -> list[Effect]:
    """What it answers, without the lines for the log."""
    effects = it.receive(message, Origin("gateway", asker) if asker else Origin(""), NOW)
    return [effect for effect in effects if isinstance(effect, Reply | After | Append | BuildPackage | Stopped)]


def add(name: str, **fields: object) -> DistributeRequest:
    known: dict[str, object] = {"kind": Kind.ADD, "paths": ("/a",), "source": "/content"}
    return DistributeRequest(request_id=name, **(known | fields))  # type: ignore[arg-type]


def delete(name: str) -> DistributeRequest:
    return DistributeRequest(request_id=name, kind=Kind.DELETE, paths=("/a",))


def built(request: DistributeRequest, length: int = 7) -> Done:
    package = PackageMessage(
        publisher_instance="", publisher="", package_id="", kind=Kind.ADD, paths=request.paths, content=b"x" * length,
        length=length, entries=2,
    )  # fmt: skip
    return Done(BuildPackage(request), package)


def append_in(effects: list[Effect]) -> Append:
    (append,) = (effect for effect in effects if isinstance(effect, Append))
    return append


def requests_in(append: Append) -> list[str]:
    return [dict(record.headers)["cause"] for record in append.records]


def answers(effects: list[Effect]) -> dict[int, DistributeResponse]:
    found = {}
    for effect in effects:
        if isinstance(effect, Reply):
            assert isinstance(effect.event, DistributeResponse)
            found[effect.origin.question] = effect.event
    return found


@pytest.mark.proves("F14", "F15", "F26")
def test_an_add_is_built_appended_and_answered_with_its_offset() -> None:
    it, request = distributor(), add("r1", user="ann", metadata=(("k", "v"),))
    assert tell(it, request, 1) == [BuildPackage(request)]
    append = append_in(tell(it, built(request)))
    assert (append.topic, requests_in(append)) == ("p", ["r1"])
    (answer,) = answers(tell(it, Done(append, (41,)))).values()
    assert (answer.accepted, answer.offset, answer.length, answer.entries) == (True, 41, 7, 2)
    new = append.records[0]
    package = open_record(new.at(41, 0), PackageMessage)
    assert (package.publisher, package.publisher_instance, package.request_id) == ("site", "i1", "r1")
    assert (package.user, package.metadata, package.content) == ("ann", (("k", "v"),), b"x" * 7)
    assert package.package_id == answer.package_id


def test_the_package_id_depends_on_the_request_id_alone() -> None:
    ids = []
    for name in ("r1", "r1", "r2"):
        it = distributor()
        append = append_in(tell(it, delete(name), 1))
        ids.append(answers(tell(it, Done(append, (1,))))[1].package_id)
    assert ids[0] == ids[1] != ids[2]


@pytest.mark.proves("F11")
@pytest.mark.parametrize("kind", [Kind.DELETE, Kind.INVALIDATE, Kind.TEST])
def test_packages_without_content_are_not_built(kind: Kind) -> None:
    effects = tell(distributor(), DistributeRequest(request_id="r", kind=kind, paths=("/a",)), 1)
    assert requests_in(append_in(effects)) == ["r"]
    assert len(effects) == 1


@pytest.mark.proves("F11", "F12", "F16")
@pytest.mark.parametrize(
    ("request_", "reason"),
    [
        (add(""), "no id"),
        (add("r\udc80"), "not valid UTF-8"),
        (add("r", user="\udc80"), "not valid UTF-8"),
        (add("r", metadata=(("k", "\udc80"),)), "not valid UTF-8"),
        (add("r", kind=7), "kind 7"),
        (add("r", paths=()), "no paths"),
        (add("r", paths=("a",)), "not absolute"),
        (add("r", paths=("/a/../b",)), "not normalised"),
        (add("r", deep_paths=("/b",)), "'/b' is not among"),
        (add("r", source=""), "no source"),
        (add("r", recipients=("edge-1", "")), "a recipient has no name"),
        (add("r", recipients=("\udc80",)), "not valid UTF-8"),
    ],
)
def test_a_wrong_request_is_refused_with_its_reason(request_: DistributeRequest, reason: str) -> None:
    (answer,) = answers(tell(distributor(), request_, 1)).values()
    assert not answer.accepted
    assert reason in answer.reason


@pytest.mark.proves("F12")
def test_a_test_package_needs_no_path() -> None:
    append_in(tell(distributor(), DistributeRequest(request_id="r", kind=Kind.TEST, paths=()), 1))


def test_a_small_package_does_not_overtake_a_big_one_requested_before_it() -> None:
    it, big = distributor(), add("big")
    tell(it, big, 1)
    assert tell(it, delete("small"), 2) == []
    assert requests_in(append_in(tell(it, built(big)))) == ["big", "small"]


def test_packages_built_while_the_log_is_busy_follow_as_one_batch() -> None:
    it = distributor()
    first = append_in(tell(it, delete("r1"), 1))
    assert tell(it, delete("r2"), 2) + tell(it, delete("r3"), 3) == []
    effects = tell(it, Done(first, (5,)))
    assert answers(effects)[1].offset == 5
    second = append_in(effects)
    assert requests_in(second) == ["r2", "r3"]
    assert {q: answer.offset for q, answer in answers(tell(it, Done(second, (6, 9)))).items()} == {2: 6, 3: 9}


def test_a_request_repeated_while_in_progress_is_built_once_and_answered_twice() -> None:
    it, request = distributor(), add("r1")
    tell(it, request, 1)
    assert tell(it, request, 2) == []
    append = append_in(tell(it, built(request)))
    found = answers(tell(it, Done(append, (3,))))
    assert found[1] == found[2]
    assert answers(tell(it, request, 3)) == {3: found[1]}, "and later from memory"


def test_the_remembered_answers_are_bounded_and_the_log_has_the_rest() -> None:
    it = distributor(max_answers=1)
    for name in ("r1", "r2"):
        tell(it, Done(append_in(tell(it, delete(name), 1)), (1,)))
    assert requests_in(append_in(tell(it, delete("r1"), 2))) == ["r1"]


def test_builds_in_progress_and_waiting_requests_are_each_bounded() -> None:
    it = distributor(max_in_progress=2, max_waiting=1)
    requests = [add(f"r{number}") for number in range(4)]
    effects = [effect for number, request in enumerate(requests) for effect in tell(it, request, number + 1)]
    assert effects[:2] == [BuildPackage(requests[0]), BuildPackage(requests[1])]
    assert "retry later" in answers(effects)[4].reason
    append = append_in(tell(it, built(requests[0])))
    assert BuildPackage(requests[2]) in tell(it, Done(append, (1,)))


@pytest.mark.proves("R14")
@pytest.mark.parametrize("error", [RequestRefused("no such path"), BlobUnavailable("store down")])
def test_a_package_that_cannot_be_built_is_refused_in_its_turn_and_blocks_no_other(error: RequestRefused) -> None:
    it, first, second = distributor(), add("r1"), add("r2")
    tell(it, first, 1)
    tell(it, second, 2)
    assert tell(it, Failed(BuildPackage(second), error)) == []
    append = append_in(tell(it, built(first)))
    assert answers(tell(it, Done(append, (1,))))[2].reason == str(error)


def test_a_refused_request_can_be_repeated_with_its_id() -> None:
    it, request = distributor(), add("r1")
    tell(it, request, 1)
    tell(it, Failed(BuildPackage(request), RequestRefused("no such path")))
    assert tell(it, request, 2) == [BuildPackage(request)]


@pytest.mark.proves("F13", "F16", "R14")
def test_an_empty_folder_is_dropped_and_does_not_mean_remove_everything() -> None:
    it, request = distributor(), add("r1", paths=("/",), deep_paths=("/",))
    tell(it, request, 1)
    package = PackageMessage(publisher_instance="", package_id="", kind=Kind.ADD, paths=("/",), entries=1, length=90)
    answer = answers(tell(it, Done(BuildPackage(request), package)))[1]
    assert (answer.accepted, answer.dropped, answer.retry) == (False, True, False)
    assert "empty request" in answer.reason


def test_the_package_carries_its_recipients() -> None:
    for request in (add("r1", recipients=("edge-1",)), DistributeRequest(
        request_id="r2", kind=Kind.DELETE, paths=("/a",), recipients=("edge-1",)
    )):  # fmt: skip
        it = distributor()
        effects = tell(it, request, 1)
        append = append_in(effects if request.kind is Kind.DELETE else tell(it, built(request)))
        assert open_record(append.records[0].at(1, 0), PackageMessage).recipients == ("edge-1",)


def test_an_unavailable_log_is_retried_and_then_given_up_with_advice() -> None:
    it = distributor(max_attempts=3)
    append = append_in(tell(it, delete("r1"), 1))
    for _ in range(2):
        (wait,) = tell(it, Failed(append, LogUnavailable("down")))
        assert isinstance(wait, After)
        append = append_in(tell(it, Tick(wait.key)))
        assert requests_in(append) == ["r1"]
    answer = answers(tell(it, Failed(append, LogUnavailable("down"))))[1]
    assert not answer.accepted
    assert "same request id" in answer.reason


def test_a_record_that_is_too_large_fails_only_its_own_request() -> None:
    it = distributor()
    first = append_in(tell(it, delete("r1"), 1))
    for number in (2, 3, 4):
        tell(it, delete(f"r{number}"), number)
    batch = append_in(tell(it, Done(first, (1,))))
    refused = RecordTooLarge("too large")
    single = append_in(tell(it, Failed(batch, refused)))
    assert requests_in(single) == ["r2"]
    single = append_in(tell(it, Done(single, (2,))))
    effects = tell(it, Failed(single, refused))
    assert answers(effects)[3].reason == "too large"
    assert requests_in(append_in(effects)) == ["r4"]


def test_on_stop_it_finishes_requests_in_progress_and_refuses_the_rest() -> None:
    it, request = distributor(max_in_progress=1), add("r1")
    tell(it, request, 1)
    tell(it, delete("r2"), 2)
    effects = tell(it, Stopping())
    assert "stopping" in answers(effects)[2].reason
    assert Stopped() not in effects
    assert "stopping" in answers(tell(it, delete("r3"), 3))[3].reason
    append = append_in(tell(it, built(request)))
    assert tell(it, Done(append, (1,)))[-1] == Stopped()


def test_an_idle_distributor_stops_at_once() -> None:
    assert tell(distributor(), Stopping()) == [Stopped()]


@given(data=st.data(), kinds=st.lists(st.booleans(), min_size=1, max_size=30))
def test_the_order_on_the_log_is_that_of_the_requests_however_long_builds_take(
    data: st.DataObject, kinds: list[bool]
) -> None:
    it = distributor(max_in_progress=4)
    requests = [add(f"r{number}") if content else delete(f"r{number}") for number, content in enumerate(kinds)]
    todo: list[Effect] = []
    for number, request in enumerate(requests):
        todo += tell(it, request, number + 1)
    log: list[str] = []
    replies: list[Reply] = []
    while todo:
        effect = todo.pop(data.draw(st.integers(0, len(todo) - 1)))
        if isinstance(effect, BuildPackage):
            failed = data.draw(st.booleans())
            todo += tell(it, Failed(effect, RequestRefused("no")) if failed else built(effect.request))
        elif isinstance(effect, Append):
            offsets = tuple(range(len(log), len(log) + len(effect.records)))
            log += requests_in(effect)
            todo += tell(it, Done(effect, offsets))
        elif isinstance(effect, Reply):
            replies.append(effect)
    assert log == [request.request_id for request in requests if request.request_id in log]
    assert sorted(reply.origin.question for reply in replies) == list(range(1, len(requests) + 1))
    for reply in replies:
        assert isinstance(reply.event, DistributeResponse)
        assert reply.event.accepted == (reply.event.request_id in log)


def test_the_same_request_id_at_two_publishers_means_two_packages() -> None:
    keys = set()
    for publisher in ("one", "two"):
        it = Distributor(DistributorSettings("p", publisher, "i", publisher), Random(1))
        (record,) = append_in(tell(it, delete("r1"))).records
        keys.add(record.key)
    assert len(keys) == 2


def test_a_refusal_says_whether_the_same_request_can_be_sent_again() -> None:
    it, request = distributor(), add("r1")
    tell(it, request, 1)
    passing = tell(it, Failed(BuildPackage(request), BlobUnavailable("the store is away; start it")))
    assert answers(passing)[1].retry
    tell(it, request, 2)
    final = tell(it, Failed(BuildPackage(request), RequestRefused("no such path")))
    assert not answers(final)[2].retry


def recalling() -> tuple[Distributor, list[Effect]]:
    """A distributor on a log that knows no keys, and what it asks first."""
    it = Distributor(DistributorSettings("p", "site", "i1", "site/i1", keys=False), Random(1))
    return it, list(it.receive(Started(), Origin(""), NOW))


def read_of(effects: list[Effect]) -> ReadLog:
    (read,) = (effect for effect in effects if isinstance(effect, ReadLog))
    return read


def on_the_log(name: str, offset: int, publisher: str = "site") -> Record:
    package = PackageMessage(
        publisher_instance="other", publisher=publisher, package_id=f"package of {name}", kind=Kind.DELETE,
        paths=("/a",), request_id=name, length=9, entries=3,
    )  # fmt: skip
    return new_record(package, record_id=package.package_id, time_ns=0, producer="x", cause=name).at(offset, 0)


@pytest.mark.proves("W8")
def test_on_a_log_without_keys_a_request_from_before_the_restart_is_recognised() -> None:
    it, effects = recalling()
    assert effects == [FindBounds("p")]
    assert tell(it, delete("r1"), 1) == [], "it waits until the log was looked at"
    assert tell(it, delete("r2"), 2) == []
    read = read_of(list(it.receive(Done(FindBounds("p"), TopicBounds("L", 0, 3)), Origin(""), NOW)))
    records = (on_the_log("r1", 0), on_the_log("r2", 1, publisher="shop"), on_the_log("r0", 2))
    effects = list(it.receive(Done(read, LogRead("L", records, 3)), Origin(""), NOW))
    (answer,) = answers(effects).values()
    assert (answer.accepted, answer.offset, answer.package_id, answer.length, answer.entries) == (
        True, 0, "package of r1", 9, 3,
    )  # fmt: skip
    assert requests_in(append_in(effects)) == ["r2"], "that was another publisher's"


@pytest.mark.proves("W8")
def test_on_a_log_without_keys_a_request_that_another_process_shipped_is_recognised() -> None:
    it, _ = recalling()
    read = read_of(list(it.receive(Done(FindBounds("p"), TopicBounds("L", 0, 0)), Origin(""), NOW)))
    list(it.receive(Done(read, LogRead("L", (on_the_log("r1", 0),), 1)), Origin(""), NOW))
    assert answers(tell(it, delete("r1"), 1))[1].offset == 0


def test_a_request_is_refused_with_advice_if_a_log_without_keys_cannot_be_read() -> None:
    it, _ = recalling()
    tell(it, delete("r1"), 1)
    answer = None
    for _ in range(10):
        effects = list(it.receive(Failed(FindBounds("p"), LogUnavailable("down")), Origin(""), NOW))
        if found := answers(effects):
            answer = found[1]
            break
        (wait,) = (effect for effect in effects if isinstance(effect, After))
        list(it.receive(Tick(wait.key), Origin(""), NOW))
    assert answer is not None
    assert (answer.accepted, answer.retry, answer.reason) == (False, True, "down")


@pytest.mark.proves("W8")
@pytest.mark.parametrize("landed", [True, False])
def test_on_a_log_without_keys_a_failed_append_is_repeated_only_if_it_is_not_on_the_log(landed: bool) -> None:
    it, _ = recalling()
    read = read_of(list(it.receive(Done(FindBounds("p"), TopicBounds("L", 0, 0)), Origin(""), NOW)))
    append = append_in(tell(it, delete("r1"), 1))
    (wait,) = tell(it, Failed(append, LogUnavailable("no answer")))
    assert isinstance(wait, After)
    (find,) = it.receive(Tick(wait.key), Origin(""), NOW)
    assert find != FindBounds("p"), "the follower asks for the same"
    effects = list(it.receive(Done(find, TopicBounds("L", 0, 1)), Origin(""), NOW))
    assert effects == [], "what was appended meanwhile is to be read first"
    record = on_the_log("r1" if landed else "another", 0)
    effects = list(it.receive(Done(read, LogRead("L", (record,), 1)), Origin(""), NOW))
    if landed:
        assert answers(effects)[1].offset == 0
        assert not any(isinstance(effect, Append) for effect in effects)
    else:
        assert requests_in(append_in(effects)) == ["r1"]
