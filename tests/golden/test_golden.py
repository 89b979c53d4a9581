"""Bytes once written are read for ever: a folder for each schema version, a file of bytes for each message.

The bytes are hexadecimal, 32 to a line; the Python files beside them say what they stand for. A message, or a
field, of a later version comes into that version's folder, and the older folders stay as they are. For a new
message, write its instance; the failing test shows the lines of its file.
"""

import runpy
import textwrap
from pathlib import Path

import pytest

from callboard.messages.codec import decode_any, encode, event_classes
from callboard.messages.event import Event
from callboard.messages.headers import SCHEMA_VERSION
from callboard.messages.json_codec import decode_json, encode_json

HERE = Path(__file__).resolve().parent
VERSIONS = sorted(folder for folder in HERE.glob("v*"))


def instances(version: Path) -> list[Event]:
    return [event for file in sorted(version.glob("*.py")) for event in runpy.run_path(str(file))["INSTANCES"]]


CASES = [
    pytest.param(version / type(event).__name__, event, id=f"{version.name}-{type(event).__name__}")
    for version in VERSIONS
    for event in instances(version)
]


@pytest.mark.parametrize(("path", "event"), CASES)
def test_golden_bytes_decode_to_the_same_event(path: Path, event: Event) -> None:
    assert decode_any(path.name, bytes.fromhex(path.with_suffix(".hex").read_text())) == event


@pytest.mark.parametrize(("path", "event"), CASES)
def test_an_event_encodes_to_its_golden_bytes(path: Path, event: Event) -> None:
    file = path.with_suffix(".hex")
    written = file.read_text() if file.exists() else ""

    assert textwrap.fill(encode(event).hex(), 64) == written.rstrip()


def test_every_message_has_golden_bytes() -> None:
    kept = {path.stem for version in VERSIONS for path in version.glob("*.hex")}

    assert kept == set(event_classes())
    assert HERE / "v{}.{}".format(*SCHEMA_VERSION) in VERSIONS


@pytest.mark.parametrize("path", [path for version in VERSIONS for path in version.glob("*.json")], ids=str)
def test_the_json_matches_the_golden_file(path: Path) -> None:
    event = next(event for event in instances(path.parent) if type(event).__name__ == path.stem)

    assert decode_json(path.read_bytes()) == event
    assert encode_json(event) + b"\n" == path.read_bytes()
