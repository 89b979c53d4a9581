"""A manifest or a generation of an archive."""

from callboard.archive.files import layout
from callboard.archive.files.manifest import Generation, Link, Manifest, decode_generation, decode_manifest, encode
from callboard.errors import ArchiveDamaged, SchemaTooNew

MANIFEST = Manifest(
    topic="package", log_id="l", first=0, next=4, previous=None, files=(), vector={"package": 4}, time_ns=5
)
GENERATION = Generation(
    topic="package", number=1, log_id="l", first=0, last=Link(next=4, sha256="ab" * 32), previous="", files=(),
    time_ns=5,
)  # fmt: skip


def seeds() -> list[bytes]:
    return [b"\0" + encode(MANIFEST), b"\1" + encode(GENERATION)]


def run(data: bytes) -> None:
    name, decode = layout.manifest("package", 0), decode_manifest
    if data[:1] == b"\1":
        name, decode = layout.generation("package", 1), decode_generation
    try:
        found = decode(name, data[1:])
    except (ArchiveDamaged, SchemaTooNew) as error:
        assert name in str(error)
        return
    assert decode(name, encode(found)) == found
