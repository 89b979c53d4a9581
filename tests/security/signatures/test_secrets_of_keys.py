"""The secret of a key is in its file. If it is in a setting by mistake, what is said about that does not repeat it."""

import sys
from pathlib import Path

import pytest

from callboard.cli.run_command import run
from callboard.cli.terminal import exit_codes

SECRET = "MDEyMzQ1Njc4OWFiY2RlZg"
NUMBER = "1234567812345678"

MISTAKES = {
    "in base64, which ends in =": f'signing_key = "{SECRET}="',
    "in base64, which ends in ==": f'signing_key = "{SECRET}=="',
    "with a slash, too": f'signing_key = "{SECRET}/x=="',
    "as the name": f'signing_key = "{SECRET}+=./ops.key"',
    "as the file": f'signing_key = "ops={SECRET}=="',
    "trusted": f'trusted_keys = ["{SECRET}=="]',
    "not in a list": f'trusted_keys = "{SECRET}=="',
    "with a NUL": f'signing_key = "ops={SECRET}\\u0000"',
    "a number": f"signing_key = {NUMBER}",
}


@pytest.mark.parametrize("mistake", MISTAKES.values(), ids=MISTAKES)
def test_a_secret_in_place_of_a_key_file_is_not_repeated(
    mistake: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("callboard.toml").write_text(f'log = "sqlite:///./board.db"\n{mistake}\n')
    for words in (["status"], ["doctor"], ["doctor", "--json"], ["publish", "."]):
        monkeypatch.setattr(sys, "argv", ["callboard", *words])
        assert run() == exit_codes.USAGE
        out, err = capsys.readouterr()
        assert SECRET not in out + err
        assert NUMBER not in out + err
