"""``callboard pipeline export`` and ``collect`` as they are typed."""

import json
import os
import time

import pytest

from callboard.cli.terminal import exit_codes


@pytest.mark.timeout(600)
def test_exported_blobs_are_kept_until_their_packages_are_trimmed_and_then_quarantined(typed, sqlite_log, tmp_path):
    (tmp_path / "site").mkdir()
    code, _, said = typed("export", "./site", "--out", "./empty")
    assert (code, "nothing in this folder" in said) == (exit_codes.USAGE, True)
    (tmp_path / "site" / "large.bin").write_bytes(b"x" * 100_000)
    code, said, _ = typed("export", "./site", "--out", "./export", "--json")
    assert (code, json.loads(said)["data"]["packages"], json.loads(said)["data"]["appended"]) == (0, 1, 1)

    [blob] = (tmp_path / "board.db" / "blobs").glob("??/*")
    os.utime(blob, (time.time() - 100_000,) * 2)
    code, said, _ = typed("collect", "--out", "./garbage")
    assert (code, "1 blob, 100 kB; in quarantine 0, 0 B" in said) == (0, True)
    sqlite_log.trim("package", 2)
    code, said, warning = typed("collect", "--out", "./garbage")
    assert (code, "in quarantine 1, 100 kB" in said, "more than 50%" in warning) == (0, True, True)
    code, _, said = typed("collect", "--out", "./garbage", "--delete")
    assert (code, "remove 1 blob, 100 kB? There is no terminal to ask on" in said) == (exit_codes.USAGE, True)
    code, _, said = typed("collect", "--out", "./garbage", "--delete", "--yes")
    assert (code, "under quarantine until" in said) == (exit_codes.USAGE, True)
    assert blob.exists()
