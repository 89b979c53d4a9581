"""The schema, as numbered SQL files that are each applied once, in order, by one process at a time."""

from importlib.resources import files

from callboard.backends.postgres.failure import explained
from callboard.backends.postgres.server import Connection, Server
from callboard.errors import ConfigError, SchemaTooNew

_LOCK = "SELECT pg_advisory_xact_lock(1128419140, hashtext('{schema}'))"
_BEGINNING = """\
DO $$ BEGIN
    IF to_regnamespace('{schema}') IS NULL THEN  -- asked first: IF NOT EXISTS demands the permission anyway
        CREATE SCHEMA {schema};
    END IF;
END $$;
SET LOCAL search_path = {schema}, pg_temp;
CREATE TABLE IF NOT EXISTS {schema}.schema_version (  -- in full: else who may not use the schema makes it in pg_temp
    version integer PRIMARY KEY,
    applied timestamptz NOT NULL DEFAULT now()
);
"""
_TAKEN = """
    SELECT array_agg(name) FROM unnest(ARRAY['topics', 'repositories', 'entries', 'chunks']) AS name
    WHERE to_regclass(quote_ident(current_schema()) || '.' || name) IS NOT NULL"""
"""Tables with our names in a schema that is not ours yet: ``IF NOT EXISTS`` would mistake them for our own."""
_APPLIED = "INSERT INTO schema_version(version) VALUES ({version}) ON CONFLICT DO NOTHING;\n"


def migrations() -> dict[int, str]:
    """The SQL of every version, in order."""
    found = (files("callboard.backends.postgres") / "migrations").iterdir()
    texts = {int(file.name[:4]): file.read_text(encoding="utf-8") for file in found if file.name.endswith(".sql")}
    return dict(sorted(texts.items()))


def sql(schema: str = "callboard") -> str:
    """All migrations as one script for ``psql``, for sites where no program may change a schema.

    It may be run at any time: existing objects are left as they are.
    """
    steps = (f"\n{text}\n{_APPLIED.format(version=version)}" for version, text in migrations().items())
    beginning = f"BEGIN;\n{_LOCK.format(schema=schema)};\n{_BEGINNING.format(schema=schema)}"
    return f"{beginning}{''.join(steps)}\nCOMMIT;\n"


async def pending(connection: Connection) -> list[int]:
    """The versions that the schema of a connection lacks: all of them when it does not exist.

    Raises ``SchemaTooNew`` when it has a version unknown to this callboard.
    """
    known = list(migrations())
    if await connection.fetchval("SELECT to_regclass('schema_version')") is None:
        return known
    applied = {row[0] for row in await connection.fetch("SELECT version FROM schema_version")}
    if applied and max(applied) > known[-1]:
        raise SchemaTooNew(
            f"the database has schema version {max(applied)} and this callboard knows {known[-1]}; upgrade callboard"
        )
    return [version for version in known if version not in applied]


async def migrate(url: str) -> list[int]:
    """Update the schema that a URL names, creating it if need be; returns the versions that were applied.

    All or nothing. If several processes run it at once, one migrates and the others find nothing to do. Raises
    ``ConfigError``, ``LogUnavailable``, and ``SchemaTooNew``.
    """
    server = Server.of(url)
    with explained(server):
        connection = await server.connect()
        try:
            return await _migrate(connection, server.schema)
        finally:
            await connection.close()


async def check_schema(server: Server, connection: Connection, create: bool = False) -> None:
    """Raise ``ConfigError`` unless the schema is up to date.

    With ``create``, a missing schema is created. An existing one is never changed: processes of another version may be
    using it.
    """
    missing = await pending(connection)
    if missing == list(migrations()):
        if not create:
            raise ConfigError(
                f"{server.name} has no schema {server.schema} yet, or none that this user may see; run callboard "
                "init, or callboard migrate"
            )
        await _migrate(connection, server.schema)
    elif missing:
        raise ConfigError(
            f"schema {server.schema} of {server.name} lacks version {missing[0]}; stop every process of this board "
            "and run callboard migrate"
        )


async def _migrate(connection: Connection, schema: str) -> list[int]:
    async with connection.transaction():
        await connection.execute(_LOCK.format(schema=schema))
        await connection.execute(_BEGINNING.format(schema=schema))
        versions = await pending(connection)
        if versions == list(migrations()) and (names := await connection.fetchval(_TAKEN)):
            raise ConfigError(
                f"schema {schema} has tables of another program, such as {names[0]}; choose another with &schema=NAME"
            )
        for version in versions:
            await connection.execute(migrations()[version])
            await connection.execute(_APPLIED.format(version=version))
    return versions
