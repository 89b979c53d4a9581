"""The content of the files: everything that any record has."""

import asyncio
import tempfile
from pathlib import Path

import pyarrow.parquet as pq
from hypothesis import given, settings
from hypothesis import strategies as st

from callboard.archive.archiver import Archiver
from callboard.archive.reader import ArchiveReader
from callboard.archive.restoration import restore
from callboard.archive.stores.folder import FolderArchiveStore
from callboard.backends.logs.memory import MemoryLog
from callboard.backends.logs.sqlite import SqliteLog
from callboard.messages.record import NewRecord

TOPIC = "topic"
TEXT = st.text(st.characters(exclude_characters="\0", exclude_categories=["Cs"]), max_size=20)
RECORDS = st.lists(
    st.builds(
        NewRecord,
        payload=st.binary(max_size=200),
        headers=st.lists(st.tuples(TEXT | st.sampled_from(["type", "id", "publisher"]), TEXT), max_size=4).map(tuple),
        key=TEXT,
    ),
    max_size=30,
)


def test_a_segment_has_columns_for_queries(archive, tmp_path):
    async def scenario() -> None:
        await archive.fill(5)
        await archive.run()

    asyncio.run(scenario())
    (path,) = (tmp_path / "archive").rglob("*.parquet")
    file = pq.ParquetFile(path)
    rows = file.read().to_pylist()
    assert [row["offset"] for row in rows] == [1, 2, 3, 4, 5]
    assert [row["key"] for row in rows] == ["key-1", "key-2", None, "key-4", "key-5"]
    assert (rows[0]["type"], rows[0]["publisher"], rows[0]["id"]) == ("PackageMessage", "site", "id-1")
    assert rows[0]["payload"] == b"\0\xffpayload 1"
    assert rows[0]["headers"].split(b"\0")[:2] == [b"type", b"PackageMessage"]
    assert file.metadata.metadata[b"callboard.format"] == b"1"
    assert file.metadata.row_group(0).column(0).compression == "ZSTD"
    assert "DELTA_BINARY_PACKED" in file.metadata.row_group(0).column(0).encodings


@settings(max_examples=40, deadline=None)
@given(records=RECORDS, per_segment=st.integers(1, 40))
def test_any_record_is_read_back_from_the_archive_and_restored_to_a_log(records, per_segment):
    async def scenario(folder: Path) -> None:
        log, store, number = MemoryLog(), FolderArchiveStore(folder / "archive"), iter(range(10**6))
        await log.ensure(TOPIC)
        await log.append(TOPIC, records)
        archiver = Archiver(log, store, (TOPIC,), lambda: 1, lambda: f"{next(number):x}", segment_records=per_segment)
        archived = [step.rows async for step in archiver.run(TOPIC)]
        truth = await log.read(TOPIC, 1)
        assert sum(archived) == len(truth)
        if truth:
            assert [record async for record in ArchiveReader(store).read(TOPIC)] == truth
            returned = [pair async for page in ArchiveReader(store).read_with_keys(TOPIC) for pair in page]
            keys = await log.keys(TOPIC, 1, 1000)
            assert {pair.record.offset: pair.key for pair in returned if pair.key is not None} == keys
        again = SqliteLog(folder / "log")
        async for _ in restore(store, again, TOPIC):
            pass
        assert await again.read(TOPIC, 1) == truth
        assert await again.keys(TOPIC, 1, 1000) == await log.keys(TOPIC, 1, 1000)
        await again.close()

    with tempfile.TemporaryDirectory() as folder:
        asyncio.run(scenario(Path(folder)))
