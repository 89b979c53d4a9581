"""A target overlaps neither the log, the blob store, the archive nor a source, under any of its names."""

import asyncio
from pathlib import Path

import pytest

from callboard import Callboard
from callboard.errors import ConfigError
from tests.refused import refused


@pytest.fixture
def base(tmp_path: Path) -> Path:
    for folder in ("board.db", "large", "kept", "site/docs", "free"):
        (tmp_path / folder).mkdir(parents=True)
    (tmp_path / "link").symlink_to("board.db")
    return tmp_path


def board(base: Path) -> Callboard:
    return Callboard("sqlite:///./board.db", blobs="folder:large", blobs_for="./kept", base=base)


@pytest.mark.parametrize(
    ("into", "reason"),
    [
        (".", "contains the log"),
        ("free/..", "contains the log"),
        ("/", "contains the log"),
        ("board.db", "is the log"),
        ("folder:./board.db/", "is the log"),
        ("link", "is the log"),
        ("link/out", "lies in the log"),
        ("sqlite:board.db/out.db", "lies in the log"),
        ("large", "is the blob store"),
        ("kept/out", "lies in the archive"),
    ],
)
def test_files_of_the_board_are_refused_as_a_target(base: Path, into: str, reason: str) -> None:
    before = sorted(base.rglob("*"))
    for on_occupied in ("refuse", "adopt", "replace"):
        with pytest.raises(ConfigError, match=reason):
            board(base).subscriber("edge", into, on_occupied=on_occupied)  # type: ignore[arg-type]
    assert sorted(base.rglob("*")) == before


@pytest.mark.parametrize("into", ["out", "free", "sqlite:out.db", "postgresql://host/db?repository=.", "board.db2"])
def test_a_separate_folder_is_accepted_as_a_target(base: Path, into: str) -> None:
    assert board(base).subscriber("edge", into).name == "edge"


def test_a_target_inside_another_is_refused_but_two_subscribers_may_name_the_same_one(base: Path) -> None:
    its = board(base)
    its.subscriber("edge", "free/out")
    its.subscriber("standby", "./free/out")
    for into, reason in (("free", "contains the target"), ("sqlite:free/out/edge.db", "lies in the target")):
        with pytest.raises(ConfigError, match=reason):
            its.subscriber("other", into)


def test_a_source_is_refused_as_a_target_and_a_target_as_a_source(base: Path) -> None:
    (base / "site/docs/a").write_text("a")

    async def scenario() -> None:
        async with board(base) as opened:
            await opened.publisher().publish("site", ["/docs"])
            for into in ("site/docs", "site", "site/docs/out", "."):
                with pytest.raises(ConfigError, match="removes what is in its way"):
                    opened.subscriber("edge", into)
            opened.subscriber("edge", "free/out")
            for source, path in (("free", "/"), ("free", "/out"), ("free/out", "/x")):
                with refused("overlaps"):
                    await opened.publisher().publish(source, [path])

    asyncio.run(scenario())
    assert (base / "site/docs/a").read_text() == "a"
