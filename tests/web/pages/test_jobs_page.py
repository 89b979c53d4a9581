"""Jobs, queues, workers, schedules and folds in the console."""

import asyncio
import re
from datetime import timedelta
from pathlib import Path

import pytest

from callboard import Callboard, RunningJob
from callboard.board.jobs.new_job import NewJob
from callboard.errors import CancelJob
from callboard.messages.entities.entity_messages import FoldAnnouncementMessage
from callboard.messages.headers import new_record
from tests.web.served import OPERATOR, reader, run

HOSTILE = "<script>alert(1)</script>\u202e"


async def refuse(_: object) -> None:
    raise CancelJob(HOSTILE)


@run
async def test_a_board_without_jobs_says_how_they_come(tmp_path: Path):
    async with Callboard("memory:", base=tmp_path) as board, reader(board) as reads:
        said = await reads.words("/jobs")
        assert "There is no worker. Start one by callboard run worker MODULE:NAME" in said
        assert "No such job" in said
        assert "No schedule is set" in await reads.words("/schedules")
        assert "No entities, processes, projections or reactions run" in await reads.words("/folds")
        assert "there is no job 7" in await reads.words("/jobs/7", 404)


@run
async def test_queues_workers_and_jobs_are_shown_in_the_words_of_the_command_line(tmp_path: Path):
    async with Callboard("memory:", base=tmp_path) as board, reader(board, OPERATOR) as reads:
        begun, release = asyncio.Event(), asyncio.Event()

        async def send(_: object) -> str:
            begun.set()
            await release.wait()
            return "sent"

        async with board.jobs.worker({"mail/*": send}, slots=3, instance="one", tags=["gpu"]):
            active = await board.jobs.add("mail/send", {"to": "ann"}, title=HOSTILE[:-1])
            await begun.wait()
            parked = await board.jobs.add("nobody", delay_s=0)
            later = await board.jobs.add("mail/late", delay_s=3600)
            await board.jobs.suspend("main", "for a test")
            said = await reads.until("/jobs", "main 2 1", "suspended")
            assert "one live 3 1 yes" in said
            assert f"{parked.id} queued, no worker runs its topic nobody main" in said
            assert f"{later.id} queued, due in 60 min mail/late main" in said
            assert f"{active.id} active mail/send main" in said
            page = await reads.page("/jobs")
            assert "<script>alert" not in page
            assert re.findall(r'<tr id="j-(\d+)">', page) == [str(its.id) for its in (later, parked, active)]
            assert f'href="/actions/stop-job?job={active.id}"' in page
            assert 'href="/actions/resume-queue?queue=main"' in page
            release.set()
            await board.jobs.wait(active.id)
            assert f'href="/actions/retry-job?job={active.id}"' in await reads.page("/jobs")


@run
async def test_jobs_are_found_by_queue_topic_state_and_what_is_in_their_payload(tmp_path: Path):
    async with Callboard("memory:", base=tmp_path) as board, reader(board) as reads:
        await board.jobs.configure("mails", ["mail/**"])
        small, large = [(await board.jobs.add("mail/send", {"size": size})).id for size in (1, 5)]
        other = (await board.jobs.add("scan", {"size": 9})).id
        dropped = (await board.jobs.add("scan")).id
        await board.jobs.drop(dropped)

        async def found(query: str) -> list[int]:
            return [int(each) for each in re.findall(r'<tr id="j-(\d+)">', await reads.page(f"/jobs{query}"))]

        assert await found("") == [dropped, other, large, small]
        assert await found("?queue=mails") == [large, small]
        assert await found("?topic=mail/*") == [large, small]
        assert await found("?state=history") == [dropped]
        assert await found("?state=open&topic=scan") == [other]
        assert await found("?where=size>%3D5") == [other, large]
        for query, status, told in (
            ("?queue=mial", 404, "did you mean 'mails'?"), ("?topic=a//b", 400, "or a pattern of topics"),
            ("?state=idle", 400, "but should be one of queued"), ("?where=size", 400, "is no condition"),
            ("?after=x", 400, "should be a whole number"), ("?queue=" + "q" * 2000, 400, "1000 is the most"),
            ("?range=1y", 400, "should be one of 15min, 2h, 2d"),
        ):  # fmt: skip
            assert told in await reads.words(f"/jobs{query}", status), query


@run
async def test_many_jobs_come_in_pages(tmp_path: Path):
    async with Callboard("memory:", base=tmp_path) as board, reader(board) as reads:
        ids = [each.id for each in await board.jobs.add_all([NewJob(topic="a") for _ in range(120)])]
        found, path = list[int](), "/jobs?topic=a"
        while path:
            page = await reads.page(path)
            found += map(int, re.findall(r'<tr id="j-(\d+)">', page))
            older = re.search(r'<a rel="next" href="([^"]+)">Older', page)
            path = "/jobs" + older[1].replace("&amp;", "&") if older else ""
        assert found == ids[::-1]


@run
async def test_a_job_shows_its_payload_progress_result_and_life(tmp_path: Path):
    async with Callboard("memory:", base=tmp_path) as board, reader(board) as reads:

        async def scan(payload: object, job: RunningJob) -> object:
            job.progress(4)
            job.step(3)
            job.log(f"scanned {HOSTILE}")
            return {"seen": payload}

        async with board.jobs.worker({"scan": scan, "refuse": refuse}):
            done = await board.jobs.add("scan", {"path": HOSTILE}, title="a scan", lane="one")
            failed = await board.jobs.add("refuse")
            for each in (done, failed):
                await board.jobs.wait(each.id)
            said = await reads.words(f"/jobs/{done.id}")
            assert f"job {done.id}, scan: succeeded" in said
            assert "title: a scan" in said
            assert "step 3 of 4" in said
            assert "Log scanned <script>alert(1)</script>\\u202e" in said
            assert "Payload {" in said
            assert 'Result {"seen": {"path":' in said
            said = await reads.words(f"/jobs/{done.id}/life")
            assert "added, by " in said
            assert "succeeded, attempt 1, on " in said
            assert "message: <script>alert(1)</script>\\u202e" in await reads.words(f"/jobs/{failed.id}")
            assert "error, attempt 1" in await reads.words(f"/jobs/{failed.id}/life")
            for number in (done.id, failed.id):
                page = await reads.page(f"/jobs/{number}") + await reads.page(f"/jobs/{number}/life")
                assert "<script>alert" not in page
                assert "\u202e" not in page
        await board.jobs.forget(done.id)
        assert "removed" in await reads.words(f"/jobs/{done.id}/life")
        assert "the log may still tell its life" in await reads.words(f"/jobs/{done.id}", 404)
        assert "nothing is known of job 1" in await reads.words("/jobs/1/life", 404)


@run
async def test_schedules_show_their_next_ticks_in_their_zone(tmp_path: Path):
    async with Callboard("memory:", base=tmp_path) as board, reader(board) as reads:
        await board.jobs.schedule("night", "mail/send", cron="30 3 * * *", zone="Asia/Kolkata", author="ada")
        await board.jobs.schedule("off", "scan", every_s=60, suspended=True)
        said = await reads.words("/schedules")
        assert "night 30 3 * * * (Asia/Kolkata)" in said
        ticks = re.findall(r"\d{4}-\d\d-\d\d 03:30:00\+05:30", said)
        assert len(ticks) == 5
        assert "off every 60 s suspended none none yet scan" in said
        assert "1 to 100 of" not in said
        for number in range(120):
            await board.jobs.schedule(f"s{number:03}", "scan", every_s=60)
        said = await reads.words("/schedules")
        assert "122 schedules, by name" in said
        assert "s119" not in said
        said = await reads.words("/schedules?at=100")
        assert "101 to 122 of 122 schedules" in said
        assert "s119" in said
        assert "122 schedules" in await reads.words("/schedules?at=500")


@pytest.mark.parametrize("queue", ["main", HOSTILE[:-1]])
def test_the_plots_of_a_queue_are_beside_its_jobs(tmp_path: Path, queue: str):
    @run
    async def scenario() -> None:
        async with Callboard("memory:", base=tmp_path) as board, reader(board) as reads:
            await board.jobs.add("a", delay_s=timedelta(hours=1).total_seconds())
            if queue == "main":
                await reads.until("/jobs?queue=main", "Jobs in main", "queued: 1")
            else:
                assert "no queue" in await reads.words(f"/jobs?queue={queue}", 404)

    scenario()


@run
async def test_folds_show_how_far_they_are_what_is_wrong_and_what_helps(tmp_path: Path):
    async with Callboard("memory:", base=tmp_path) as board, reader(board) as reads:
        for said in (
            {"kind": "entities", "name": "bank", "instance": "one", "state": "live"},
            {"kind": "projection", "name": "x", "instance": HOSTILE, "state": "stopped", "problem": HOSTILE},
        ):
            message = FoldAnnouncementMessage(incarnation=said["name"], interval_s=15, **said)
            record = new_record(message, record_id=said["name"], time_ns=board.context.now_ns(), producer="one/1")
            await board.log.append(board.settings.topics.discovery, [record])
        words = await reads.until("/folds", "bank entities one live 0")
        assert words.index("x projection") < words.index("bank entities")
        assert "is stopped: <script>alert(1)</script>\\u202e: see docs/folds.md for what to do" in words
        assert "<script>alert" not in await reads.page("/folds")
