"""`verify` and readers find everything that is missing or altered in an archive."""

import asyncio
import json

import pytest

from callboard.archive.compaction import compact
from callboard.archive.verification import verify
from callboard.errors import ArchiveDamaged, SchemaTooNew


def changed(content: bytes) -> bytes:
    middle = len(content) // 2
    return content[:middle] + bytes([content[middle] ^ 1]) + content[middle + 1 :]


def altered_manifest(content: bytes) -> bytes:
    """One that is a manifest in itself, but not the one that was written."""
    return content.replace(b'"time_ns": 18', b'"time_ns": 17')


DAMAGES = {
    "segment missing": ("segment", 1, None),
    "segment altered": ("segment", 1, changed),
    "segment cut off": ("segment", 1, lambda content: content[:-20]),
    "manifest missing": ("manifest", 1, None),
    "first manifest missing": ("manifest", 0, None),
    "manifest altered": ("manifest", 1, altered_manifest),
    "manifest cut off": ("manifest", 1, lambda content: content[:-40]),
    "manifest empty": ("manifest", 1, lambda _: b""),
}


@pytest.mark.parametrize("name", DAMAGES)
@pytest.mark.parametrize("compacted", [False, True])
def test_verification_and_readers_find_every_damage(archive, tmp_path, name, compacted):
    prefix, place, change = DAMAGES[name]

    async def scenario() -> None:
        await archive.fill(25)
        if compacted:
            await archive.run()
            await compact(archive.store, archive.topic, lambda: archive.now_ns, archive.unique)
            replaced = set(await archive.names())
            await archive.fill(25)
        await archive.run()
        assert (await verify(archive.store, archive.topic)).problems == ()
        names = [each for each in await archive.names(f"{prefix}/") if not compacted or each not in replaced]
        path = tmp_path / "archive" / names[place]
        content = path.read_bytes()
        path.unlink()
        if change is not None:
            path.write_bytes(change(content))
            assert path.read_bytes() != content
        found = await verify(archive.store, archive.topic)
        assert len(found.problems) == 1
        assert "restore the archive from a copy" in found.problems[0]
        with pytest.raises(ArchiveDamaged):
            await archive.archived()

    asyncio.run(scenario())


def test_a_topic_without_an_archive_is_not_reported(archive):
    assert asyncio.run(verify(archive.store, archive.topic)) is None


def test_a_manifest_of_a_newer_format_is_left_to_a_newer_version(archive, tmp_path):
    async def scenario() -> None:
        await archive.fill(5)
        await archive.run()
        path = tmp_path / "archive" / (await archive.names("manifest/"))[0]
        newer = json.loads(path.read_text()) | {"format": 2}
        path.unlink()
        path.write_text(json.dumps(newer))
        with pytest.raises(SchemaTooNew, match="upgrade"):
            await archive.archived()

    asyncio.run(scenario())


def test_a_manifest_cannot_name_a_file_outside_the_archive(archive, tmp_path):
    async def scenario() -> None:
        await archive.fill(5)
        await archive.run()
        path = tmp_path / "archive" / (await archive.names("manifest/"))[0]
        content = path.read_text()
        path.unlink()
        path.write_text(content.replace("segment/", "../segment/"))
        with pytest.raises(ArchiveDamaged, match="contradict"):
            await archive.archived()

    asyncio.run(scenario())
