"""What a relay puts on its site's log, also if it dies between its append and its ledger."""

import asyncio
import hashlib
from dataclasses import replace
from pathlib import Path

import pytest

from callboard.actors.subscriber.effects import OpenRepository, Permit, SurveyRepository, SurveySite
from callboard.actors.worlds.relay import relay_world
from callboard.actors.worlds.relay.site_board import SiteMember
from callboard.backends.log import Retention
from callboard.backends.logs.memory import MemoryLog
from callboard.errors import (
    BlobDamaged,
    BlobMissing,
    ConfigError,
    NameLapsed,
    RepositoryUnavailable,
    RequestRefused,
)
from callboard.messages import codec
from callboard.messages.distribution.ledger import Ledger
from callboard.messages.distribution.topic_messages import PackageMessage, SiteReport, StateCount
from callboard.messages.headers import open_record
from callboard.messages.record import NewRecord, Record
from callboard.messages.relayed import relayed
from tests.unit.actors.worlds.relay.site import ALL, NAME, TOPICS, Relay, play

LARGE = b"large"
DIGEST = hashlib.sha256(LARGE).hexdigest()


def test_packages_are_appended_in_order_and_the_ledger_knows_where(tmp_path: Path) -> None:
    async def scene(it: Relay) -> None:
        records = await it.publish("a", "b", "c")
        ledger = await it.ledger()
        assert await it.open() is None
        known = await it.world.perform(await it.import_(records, ledger))
        assert await it.there() == [("a", 1), ("b", 2), ("c", 3)]
        assert (known.site_next, known.site_relayed) == (4, 3)
        assert codec.decode(Ledger, it.store.ledger) == known

    play(tmp_path, scene)


@pytest.mark.parametrize("lost", ["nothing", "the ledger's last state", "the whole ledger"])
def test_what_was_appended_before_a_crash_is_not_appended_again(tmp_path: Path, lost: str) -> None:
    async def scene(it: Relay) -> None:
        records, ledger = await it.publish("a", "b"), await it.ledger()
        await it.open()
        before = codec.encode(ledger)
        await it.world.perform(await it.import_(records, ledger))
        if lost == "the ledger's last state":
            it.store.ledger = before
        it.again(another_ledger=lost == "the whole ledger")
        found = await it.open()
        assert found is not None
        assert found.site_relayed == (-1 if lost == "the ledger's last state" else 2)
        assert found.offset == (2 if lost == "the whole ledger" else -1)
        assert await it.open() == found, "its name is claimed in the name of the ledger, so that is kept"
        await it.world.perform(await it.import_(await it.publish("c"), replace(found, offset=-1)))
        assert await it.there() == [("a", 1), ("b", 2), ("c", 3)]

    play(tmp_path, scene)


def test_what_another_host_appended_since_is_not_appended_again(tmp_path: Path) -> None:
    async def scene(it: Relay) -> None:
        records, ledger = await it.publish("a", "b", "c"), await it.ledger()
        await it.open()
        known = await it.world.perform(await it.import_(records[:1], ledger))
        other = Relay(tmp_path / "other")
        other.source, other.site = it.source, it.site
        await other.again().perform(OpenRepository())
        await other.world.perform(await it.import_(records[:2], ledger))
        known = await it.world.perform(await it.import_(records[1:], known))
        assert await it.there() == [("a", 1), ("b", 2), ("c", 3)]
        assert known.site_relayed == 3

    play(tmp_path, scene)


def test_the_sites_own_packages_and_those_of_other_relays_are_left_alone(tmp_path: Path) -> None:
    async def scene(it: Relay) -> None:
        records, ledger = await it.publish("a", "b"), await it.ledger()
        await it.open()
        message = open_record(records[0], PackageMessage)
        await it.site.log.append(TOPICS.package, [relayed(records[0], message, "another", ledger.log_id)])
        await it.site.log.append(TOPICS.package, [NewRecord(payload=records[1].payload, headers=records[1].headers)])
        await it.world.perform(await it.import_(records, ledger))
        assert await it.there() == [("a", 1), ("b", -1), ("a", 1), ("b", 2)]

    play(tmp_path, scene)


def test_a_package_that_was_at_the_site_before_closes_no_loop(tmp_path: Path) -> None:
    async def scene(it: Relay) -> None:
        ledger = await it.ledger()
        (own,) = await it.publish("a")
        there = relayed(own, open_record(own, PackageMessage), "back", ledger.site_log_id)
        await it.source.append(TOPICS.package, [there])
        records = await it.publish("b")
        await it.open()
        known = await it.world.perform(await it.import_(records, ledger))
        assert await it.there() == [("a", 1), ("b", 3)]
        assert known.site_relayed == 3

    play(tmp_path, scene)


@pytest.mark.parametrize("path", ["garbage", "a\tb@3", "@7"])
def test_a_header_that_makes_no_sense_at_the_centre_is_left_out_and_holds_nothing_up(tmp_path: Path, path: str) -> None:
    async def scene(it: Relay) -> None:
        (own,) = await it.publish("a")
        odd = NewRecord(payload=own.payload, headers=(*own.headers, ("path", path)))
        await it.source.append(TOPICS.package, [odd])
        await it.open()
        known = await it.world.perform(await it.import_(await it.source.read(TOPICS.package, 1), await it.ledger()))
        await it.world.perform(await it.import_(await it.publish("b"), known))
        assert await it.there() == [("a", 1), ("a", 2), ("b", 3)]

    play(tmp_path, scene)


def test_content_is_there_before_its_package_and_stays_until_then(tmp_path: Path) -> None:
    async def scene(it: Relay) -> None:
        records, ledger = await it.publish("a"), await it.ledger()
        await it.open()
        effect = await it.import_(records, ledger)
        effect = replace(effect, packages=(replace(effect.packages[0], content_ref=DIGEST),))
        with pytest.raises(BlobMissing):
            await it.world.perform(effect)
        assert await it.there() == []
        await it.blobs.put(DIGEST, (LARGE,))
        it.blobs.damage(DIGEST, b"other")
        with pytest.raises(BlobDamaged, match="publish its content again"):
            await it.world.perform(effect)
        assert await it.there() == []
        await it.blobs.put(DIGEST, (LARGE,))
        await it.site.blobs.put(DIGEST, (LARGE,))
        stored = [blob.stored_ns async for blob in it.site.blobs.list()]
        it.site.blobs._clock = lambda: 99
        await it.world.perform(effect)
        assert await it.there() == [("a", 1)]
        renewed = [blob.stored_ns async for blob in it.site.blobs.list()]
        assert (stored, renewed) == ([1], [99]), "a janitor must not remove it before the package is there"

    play(tmp_path, scene)


def test_content_that_is_damaged_at_the_site_is_replaced(tmp_path: Path) -> None:
    async def scene(it: Relay) -> None:
        records, ledger = await it.publish("a"), await it.ledger()
        await it.open()
        effect = await it.import_(records, ledger)
        effect = replace(effect, packages=(replace(effect.packages[0], content_ref=DIGEST),))
        for store in (it.blobs, it.site.blobs):
            await store.put(DIGEST, (LARGE,))
        it.site.blobs.damage(DIGEST, b"other")
        await it.world.perform(effect)
        assert (await it.site.blobs.fetch(DIGEST, tmp_path)).read_bytes() == LARGE

    play(tmp_path, scene)


def test_nothing_is_appended_once_the_name_may_be_anothers(tmp_path: Path) -> None:
    async def scene(it: Relay) -> None:
        records, ledger = await it.publish("a"), await it.ledger()
        await it.open()
        lapsed = Permit()
        lapsed.until_ms = 1
        with pytest.raises(NameLapsed):
            await it.world.perform(replace(await it.import_(records, ledger), permit=lapsed))
        assert await it.there() == []

    play(tmp_path, scene)


async def relay_two(it: Relay) -> Ledger:
    """Relay a and b; the last ledger."""
    await it.open()
    ledger: Ledger = await it.world.perform(await it.import_(await it.publish("a", "b"), await it.ledger()))
    return ledger


async def replace_log(it: Relay) -> None:
    it.site.log = MemoryLog()
    for topic in ALL:
        await it.site.log.ensure(topic)


async def set_back(it: Relay) -> None:
    """The site's log becomes a copy of itself from before b, and has grown since."""
    identity = await it.site.log.identity(TOPICS.package)
    kept = (await it.site.log.read(TOPICS.package, 1))[:1]
    await replace_log(it)
    others = [NewRecord(payload=kept[0].payload, headers=kept[0].headers)]
    await it.site.log.append(TOPICS.package, others)
    await it.site.log.complete(TOPICS.package, identity, 1, 2)
    (*_, own) = await it.read()
    await it.site.log.append(TOPICS.package, [NewRecord(payload=own.payload, headers=own.headers)])


@pytest.mark.parametrize(("happens", "what"), [(replace_log, "was replaced"), (set_back, "was set back")])
@pytest.mark.parametrize("when", ["at the start", "at the next package", "without a package"])
def test_an_exchanged_log_of_the_site_is_named_until_there_is_another_ledger(
    tmp_path: Path, happens: object, what: str, when: str
) -> None:
    async def scene(it: Relay) -> None:
        ledger = await relay_two(it)
        await happens(it)  # type: ignore[operator]
        effects = {
            "at the start": OpenRepository(),
            "at the next package": await it.import_((await it.publish("c"))[2:], ledger),
            "without a package": SurveySite(ledger),
        }
        if when == "at the start":
            it.again()
        with pytest.raises(RepositoryUnavailable, match=f"{what}.*another ledger"):
            await it.world.perform(effects[when])
        before = await it.there()
        it.again(another_ledger=True)
        found = await it.open()
        start = found or await it.ledger()
        await it.world.perform(await it.import_((await it.publish("d"))[max(start.offset, 0) :], start))
        after = await it.there()
        assert after[: len(before)] == before
        assert {name for name, _ in after} >= {"a", "b", "d"}

    play(tmp_path, scene)


def test_a_log_of_the_site_that_was_trimmed_is_not_taken_for_another(tmp_path: Path) -> None:
    async def scene(it: Relay) -> None:
        ledger = await relay_two(it)
        await it.site.log.trim(TOPICS.package, Retention(below_offset=3))
        it.again()
        assert await it.open() == ledger
        known = await it.world.perform(await it.import_((await it.publish("c"))[2:], ledger))
        assert await it.there() == [("c", 3)]
        assert known.site_relayed == 3

    play(tmp_path, scene)


def test_what_a_suspended_process_appends_late_does_not_look_like_an_older_log(tmp_path: Path) -> None:
    async def scene(it: Relay) -> None:
        ledger = await relay_two(it)
        (first, *_) = await it.read()
        late = relayed(first, open_record(first, PackageMessage), NAME, ledger.log_id)
        await it.site.log.append(TOPICS.package, [replace(late, key="")])  # as a log without keys takes it
        known = await it.world.perform(await it.import_((await it.publish("c"))[2:], ledger))
        it.again()
        assert await it.open() == known
        assert await it.there() == [("a", 1), ("b", 2), ("a", 1), ("c", 3)]

    play(tmp_path, scene)


@pytest.mark.parametrize("origin", [1, 1_000_000])
def test_a_package_that_was_not_relayed_from_its_offset_is_named(tmp_path: Path, origin: int) -> None:
    """The log that the relay reads was set back and has grown since, or somebody at the site made it up."""

    async def scene(it: Relay) -> None:
        path = f"{await it.source.identity(TOPICS.package)}@{origin}"
        headers = (("id", "of the newer copy"), ("relay", NAME), ("path", path))
        await it.site.log.append(TOPICS.package, [NewRecord(payload=b"", headers=headers)])
        await it.open()
        effect = await it.import_(await it.publish("a", "b"), await it.ledger())
        with pytest.raises(RepositoryUnavailable, match="set back to an older copy"):
            await it.world.perform(effect)
        assert len(await it.there()) == 1

    play(tmp_path, scene)


def test_a_log_of_the_site_that_hangs_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    async def scene(it: Relay) -> None:
        ledger = await it.ledger()
        monkeypatch.setattr(relay_world, "SURVEY_MAX_S", 0.05)
        monkeypatch.setattr(it.site.log, "bounds", lambda _: asyncio.Event().wait())
        with pytest.raises(RepositoryUnavailable, match="has not answered for"):
            await it.world.perform(SurveySite(ledger))

    play(tmp_path, scene)


def test_the_claims_of_further_relays_have_a_limit(tmp_path: Path) -> None:
    async def scene(it: Relay) -> None:
        many, counts = 2**63 - 1, [StateCount(state=f"state {n}", subscribers=2**63 - 1) for n in range(1000)]
        lie = SiteReport(log_id="x", needs=many, errors=-1, subscribers=many, counts=tuple(counts))
        its = [SiteMember(name=name, instance=name, state="idle", counts=True, offset=1, report=lie) for name in "ab"]
        it.site.known = its
        its[0] = replace(its[0], report=replace(lie, logs=("y" * 2**20, "z", *map(str, range(2000)))))
        report: SiteReport = await it.world.perform(SurveySite(await it.ledger()))
        assert (report.needs, report.errors, len(report.counts)) == (2 * 10**9, 0, 50)
        assert report.logs[:3] == (report.log_id, "z", "0")
        assert len(report.logs) == 999
        assert codec.decode(SiteReport, codec.encode(report)) == report

    play(tmp_path, scene)


def test_a_relay_does_not_append_to_the_log_that_it_reads(tmp_path: Path) -> None:
    async def scene(it: Relay) -> None:
        it.site.log = it.source
        with pytest.raises(ConfigError, match="choose another --to"):
            await it.again().perform(OpenRepository())

    play(tmp_path, scene)


def test_a_relay_has_no_content_to_verify(tmp_path: Path) -> None:
    async def scene(it: Relay) -> None:
        with pytest.raises(RequestRefused, match="no content of its own"):
            await it.world.perform(SurveyRepository(1, ("/",)))

    play(tmp_path, scene)


@pytest.mark.parametrize("positioned", [False, True])
def test_a_relay_that_has_begun_at_the_end_is_not_new_when_it_starts_again(tmp_path: Path, positioned: bool) -> None:
    async def scene(it: Relay) -> None:
        await relay_two(it)
        it.name, it.everything = "another", True
        it.again(another_ledger=True)
        source = await it.source.identity(TOPICS.package)
        begun = Ledger(instance="me", subscriber="another", log_id=source, offset=2, positioned=positioned)
        it.store.ledger = codec.encode(begun)
        if positioned:
            found = await it.open()
            assert found is not None
            assert found.offset == 2
        else:
            with pytest.raises(ConfigError, match="'another' is new at this site, and 'berlin' has appended"):
                await it.open()

    play(tmp_path, scene)


def test_the_ledger_of_another_relay_is_refused(tmp_path: Path) -> None:
    async def scene(it: Relay) -> None:
        await relay_two(it)
        it.name = "another"
        it.again()
        with pytest.raises(ConfigError, match="the ledger is that of relay 'berlin', and this one is 'another'"):
            await it.open()

    play(tmp_path, scene)


def test_a_survey_is_of_the_sites_subscribers_by_the_offsets_of_the_source(tmp_path: Path) -> None:
    async def scene(it: Relay) -> None:
        await it.site.log.append(TOPICS.package, [NewRecord(payload=b"own", headers=())])
        ledger = replace(await relay_two(it), offset=2)
        it.site.known = [
            SiteMember(name="slow", instance="s", state="waiting", counts=True, offset=2, packages=1),
            SiteMember(name="quick", instance="q", state="idle", counts=True, offset=3, packages=0),
            SiteMember(name="gone", instance="g", state="gone", counts=False, offset=-1),
        ]
        report: SiteReport = await it.world.perform(SurveySite(ledger))
        assert (report.relayed, report.offset, report.subscribers) == (2, 1, 3)
        assert {each.name: each.offset for each in report.worst} == {"slow": 1, "gone": 0}

    play(tmp_path, scene)


def test_a_subscriber_far_below_the_sites_log_takes_no_longer_to_survey(tmp_path: Path) -> None:
    """One at a gap, or one that makes its offset up."""

    async def scene(it: Relay) -> None:
        ledger, reads = replace(await relay_two(it), offset=2), list[int]()
        read = it.site.log.read

        async def counted(topic: str, start: int, *limits: int) -> list[Record]:
            reads.append(start)
            return await read(topic, start, *limits)

        it.site.log.read = counted  # type: ignore[method-assign]
        it.site.known = [SiteMember(name="low", instance="l", state="gap", counts=True, offset=-(10**18))]
        assert (await it.world.perform(SurveySite(ledger))).offset == 0
        assert len(reads) < 10

    play(tmp_path, scene)
