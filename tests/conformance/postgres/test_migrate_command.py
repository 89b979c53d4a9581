"""``callboard migrate``."""

import pytest
from typer.testing import CliRunner

from callboard.backends.postgres import migration
from callboard.cli.app import app
from callboard.errors import ConfigError


def test_it_applies_missing_migrations_and_lists_them(postgres_url: str) -> None:
    first = CliRunner().invoke(app, ["migrate", "--log", postgres_url])
    assert first.exit_code == 0
    assert [line for line in first.output.splitlines() if line.startswith("applied")] == [
        f"applied version {version}" for version in migration.migrations()
    ]
    again = CliRunner().invoke(app, ["migrate", "--log", postgres_url])
    assert "applied" not in again.output
    assert "is up to date" in again.output


def test_it_prints_the_sql_without_a_server() -> None:
    shown = CliRunner().invoke(app, ["migrate", "--sql", "--log", "postgresql://host.invalid/db?schema=mine"])
    assert shown.exit_code == 0
    assert shown.output.strip() == migration.sql("mine").strip()


def test_a_log_without_a_schema_is_refused() -> None:
    with pytest.raises(ConfigError, match="only postgresql:// logs have one"):
        CliRunner().invoke(app, ["migrate", "--log", "sqlite:///./board.db"], catch_exceptions=False)
