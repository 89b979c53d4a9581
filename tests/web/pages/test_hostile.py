"""Pages stay whole and links work for any text that strangers write to the log or ask for."""

import html
import re
import time

import pytest

from callboard import Callboard
from callboard.messages.distribution.topic_messages import Kind, PackageMessage
from callboard.messages.headers import new_record
from callboard.messages.record import NewRecord
from tests.web.served import OPERATOR, Reader, reader, run
from tests.web.stage import HOSTILE, LONG, failure, fleet_of, packages, staged, tell

LINK = re.compile(r'(?:href|hx-get)="([^"#]*)"')
PAGES_MAX = 150
PAGE_BYTES_MAX = 1 << 20


def is_whole(page: str) -> bool:
    """Whether there is no mark-up in it but the console's own, and nothing that a reader would not see."""
    scripts = re.findall(r"<script[^>]*>", page)
    return (
        all(' src="/static/' in each for each in scripts)
        and "alert(1)</" not in page.replace("alert(1)&lt;", "")
        and page.replace("\n", "").isprintable()
        and not re.search(r"\son\w+=|\sstyle=|javascript:", re.sub(r'"[^"]*"', '""', page))
    )


async def crawled(reads: Reader, *allowed: int, first: str = "/") -> dict[str, str]:
    """All pages that links lead to from the first one."""
    found, left = dict[str, str](), [first]
    while left and len(found) < PAGES_MAX:
        at = left.pop(0)
        answer = await reads.client.get(at)
        assert answer.status_code in (200, *allowed), f"{at}: {answer.status_code}"
        found[at] = answer.text
        links = map(html.unescape, LINK.findall(answer.text))
        paths = (str(answer.url.join(each).raw_path, "ascii") for each in links)
        new = (each for each in dict.fromkeys(paths) if "/static/" not in each)
        left += [each for each in new if each not in (*found, *left)]
    return found


@pytest.mark.parametrize("at", ["", "/ops"], ids=["alone", "mounted"])
@run
async def test_every_link_leads_to_a_page(tmp_path, at):
    async with staged(tmp_path) as board, reader(board, at=at) as reads:
        pages = await crawled(reads, first=f"{at}/")
        wanted = ("/errors", "/log", "/paths", "/subscribers/stuck", "/packages/2")
        assert {at + each for each in wanted} <= pages.keys()
        assert all(each.startswith(f"{at}/") for each in pages)
        assert all(is_whole(page.replace(f"{at}/static", "/static")) for page in pages.values())
        live = [html.unescape(each) for page in pages.values() for each in re.findall(r'data-live="([^"]*)"', page)]
        assert all(each.startswith(f"{at}/live/") for each in live)


@pytest.fixture
def poisoned():
    """Have a log say what no honest process would."""

    async def poison(board: Callboard) -> None:
        topics = board.settings.topics
        await packages(board, 2, publisher=HOSTILE, path="/" + HOSTILE + "{}")
        await packages(board, 1, publisher=LONG)
        names = (HOSTILE, LONG, "../../etc", "%2e%2e", " ", "a?b=c&d#e", "\\u202e")
        await fleet_of(board, names, reason=HOSTILE * 10, host=HOSTILE, offset=1, last_error="x" * 30_000)
        failures = [failure(HOSTILE, 2, "<b>no</b>" * 200_000), failure(LONG, 1, "\x1b[31mred\x07")]
        await tell(board, topics.status, failures)
        odd = (("type", HOSTILE), ("version", "1.0"), ("<b>", "\x1b[2J"), ("publisher", "x" * 100_000))
        for topic in (topics.package, topics.status, topics.discovery, topics.command, topics.event):
            await board.log.append(topic, [NewRecord(payload=b"\x00\xff<script>", headers=odd)])
        message = PackageMessage(
            publisher_instance="i", publisher="p", package_id="<i>", kind=Kind.ADD,
            paths=("/<script>alert(1)</script>",), user=HOSTILE, source=HOSTILE,
            metadata=((HOSTILE, "v" * 50_000),), content=b"no package", length=10,
            recipients=tuple(f"{HOSTILE}{number}" for number in range(500)),
        )  # fmt: skip
        record = new_record(message, record_id="<u>", time_ns=time.time_ns(), producer=HOSTILE, traceparent="<s>")
        await board.log.append(topics.package, [record])

    return poison


@run
async def test_what_strangers_write_stays_text(tmp_path, poisoned):
    async with Callboard(f"sqlite:///{tmp_path / 'board.db'}") as board:
        await board.ensure_topics()
        await poisoned(board)
        async with reader(board, OPERATOR) as reads:
            pages = await crawled(reads, 400, 404)
            broken = [at for at, page in pages.items() if not is_whole(page)]
            assert not broken, pages[broken[0]]
            assert max(map(len, pages.values())) < PAGE_BYTES_MAX
            said = await reads.words("/errors")
            assert "\\u001b[31mred\\u0007" in said
            assert "more characters)" in said  # of a megabyte
            assert "alert(1)</script>\\u202e" in await reads.words("/")


@pytest.mark.parametrize(
    "query",
    [
        "?at=1e9", "?at=%C2%B2", "?at=-0", "?at=99999999999999999999999999", "?sort=%00", "?state=<script>",
        "?q=" + "x" * 2000, "?publisher=%ff%fe", "?publisher=" + "y" * 999,
    ],
)  # fmt: skip
@run
async def test_an_invalid_value_is_refused_within_a_page(tmp_path, query):
    async with Callboard(f"sqlite:///{tmp_path / 'board.db'}") as board, reader(board) as reads:
        answer = await reads.client.get(f"/{query}")
        assert answer.status_code in (400, 404)
        assert "This cannot be shown" in answer.text
        assert is_whole(answer.text)


@pytest.mark.parametrize(
    "path",
    [
        "/errors?subscriber=%00", "/errors?subscriber=a/b", "/errors?cursor=%27", "/log?topic=A", "/log?topic=x%00",
        "/log?start=x", "/log?since=1e400h", "/log?cursor=a.b.c.d.e.f", "/log/package/x",
        "/log/package/99999999999999999999", "/log/..%2f..%2fetc/1", "/packages/-1", "/packages/1/content?change=x",
        "/paths?path=relative", "/paths?path=/../..", "/paths?path=/a%00b", "/paths?path=/a&subscriber=%1b[2J",
        "/subscribers/%1b[31m", "/subscribers/..%2f..%2fetc%2fpasswd", "/subscribers/" + "n" * 4000,
        "/%ff%fe", "/a/b/c",
    ],
)  # fmt: skip
@run
async def test_what_is_not_there_or_cannot_be_is_told_within_a_page(tmp_path, path):
    async with Callboard(f"sqlite:///{tmp_path / 'board.db'}") as board, reader(board) as reads:
        await board.ensure_topics()
        answer = await reads.client.get(path)
        assert answer.status_code in (400, 404), answer.text
        assert "This cannot be shown" in answer.text
        assert is_whole(answer.text)
        assert len(answer.text) < 20_000
