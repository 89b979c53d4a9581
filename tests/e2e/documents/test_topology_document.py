"""The service in docs/topology.md runs as it is written there: it leads, fails over and reports its members."""

import asyncio
import re
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from callboard import LeaderReplaced, Token, TopologyEventKind, diff
from callboard.actors.topology.announcements.connector import Timing
from callboard.actors.topology.member.proposer import RANK_S
from callboard.actors.topology.member.settings import KEEP_RECORDS, SNAPSHOT_EVERY
from callboard.backends.repositories import open_repository
from callboard.board.member.member import Member
from callboard.board.member.options import EVENT_DELAY_S, PROFILES
from callboard.connectors.envelope import PACKED_BYTES_MAX, PLAIN_BYTES_MAX, RATIO_MAX
from callboard.connectors.outgoing import CLOCKS_MS_MAX
from callboard.http_server import CONNECTIONS_MAX
from callboard.messages.topology.connector_limits import CLUSTERS_MAX, INSTANCES_MAX, PATH_MAX
from callboard.messages.topology.limits import PROPERTIES_BYTES_MAX, PROPERTIES_MAX, VALUE_BYTES_MAX
from callboard.messages.topology.member_mail import MemberProblem

TEXT = (Path(__file__).resolve().parents[3] / "docs" / "topology.md").read_text(encoding="utf-8")
PROGRAMS = dict(re.findall(r"^```python file=(\S+)\n(.*?)^```$", TEXT, re.MULTILINE | re.DOTALL))


def test_when_the_first_service_is_stopped_the_second_one_leads(tmp_path: Path) -> None:
    def start(name: str) -> "subprocess.Popen[str]":
        command = [sys.executable, "service.py", name]
        return subprocess.Popen(command, cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)

    def says(service: "subprocess.Popen[str]", line: str) -> None:
        assert service.stdout is not None
        assert any(each.strip() == line for each in service.stdout)

    (tmp_path / "service.py").write_text(PROGRAMS["service.py"])
    with start("a") as first:
        try:
            says(first, "leads")
            with start("b") as second:
                try:
                    says(second, "topology_init a b")
                    says(first, "topology_changed a b")
                    first.send_signal(signal.SIGINT)
                    says(second, "leads")
                finally:
                    second.kill()
        finally:
            first.kill()


def test_the_documented_timing_matches_the_profiles() -> None:
    usual, fast, wan = (PROFILES[each] for each in ("default", "fast", "wan"))
    words = " ".join(TEXT.split())
    assert f"its lease, `lease_s` ({usual.lease_s:g} s), which it renews every `renew_s` ({usual.renew_s:g} s)" in words
    assert f'`profile="fast"` stands for {fast.lease_s:g} s and {fast.renew_s:g} s,' in words
    assert f'`"wan"` for {wan.lease_s:g} s and {wan.renew_s:g} s' in words


KIB, MIB, USUAL = 1 << 10, 1 << 20, Timing()
NUMBERS = [
    f"up to {PROPERTIES_MAX} names and values, {VALUE_BYTES_MAX / KIB:g} KiB each, {PROPERTIES_BYTES_MAX >> 10} KiB",
    f"Changes within `min_event_delay_s` ({EVENT_DELAY_S:g} s) of the first",
    f"each other one {RANK_S:g} s later",
    f"a snapshot every {SNAPSHOT_EVERY:,} records, and trims what is {KEEP_RECORDS:,} records older",
    f"every `interval_ms` ({USUAL.interval_ms / 1000:g} s)",
    f"up to `stable_factor` ({USUAL.stable_factor}) times",
    f"{PACKED_BYTES_MAX / MIB:g} MiB compressed, {PLAIN_BYTES_MAX / MIB:g} MiB or {RATIO_MAX} times as much inflated",
    f"{CLUSTERS_MAX} clusters, {INSTANCES_MAX:,} instances and {PATH_MAX} steps",
    f"There are {CONNECTIONS_MAX} connections",
    f"when that is more than {CLOCKS_MS_MAX / 1000:g} s",
]


@pytest.mark.parametrize("words", NUMBERS)
def test_the_numbers_in_the_document_match_the_code(words: str) -> None:
    assert words in " ".join(TEXT.split())


def test_every_code_with_which_a_membership_may_end_is_documented() -> None:
    by_itself = {MemberProblem.EVICTED, MemberProblem.LEFT}
    assert [each for each in MemberProblem if each.is_final and each not in by_itself and f"`{each}`" not in TEXT] == []


@pytest.mark.parametrize("place", ["sqlite:./shop.db", "folder:./shop"])
def test_after_a_reset_of_the_fence_any_process_may_write_again(place: str, tmp_path: Path) -> None:
    async def written(token: Token | None) -> bytes:
        repository = open_repository(place, tmp_path)
        try:
            before = await repository.open()
            await repository.save(b"kept", token=token)
            return before
        finally:
            await repository.close()

    asyncio.run(written(Token("lost", 7)))
    with pytest.raises(LeaderReplaced):
        asyncio.run(written(None))
    command = [sys.executable, "-c", PROGRAMS["reset_fence.py"], place]
    subprocess.run(command, cwd=tmp_path, check=True, timeout=60)
    assert asyncio.run(written(None)) == b"kept"
    asyncio.run(written(Token("new", 3)))


def test_every_call_and_every_event_is_documented() -> None:
    for word in (*TopologyEventKind, *PROFILES["fast"]._fields):
        assert str(word) in TEXT
    calls = re.findall(r"`(?:await |async for change in )?member\.(\w+)\(", TEXT)
    assert {"topology", "settled", "leader_lease", "watch"} <= set(calls)
    assert all(hasattr(Member, call) for call in calls)
    assert all(hasattr(diff([], []), call) for call in ("added", "removed", "retained"))
