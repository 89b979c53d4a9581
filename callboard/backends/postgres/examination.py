"""The checks of ``callboard doctor`` for a PostgreSQL server: version, schema, clock, and permissions."""

from collections.abc import Sequence

from callboard.backends.examination import Clock, Finding, clock_finding, ok, problem, problem_of
from callboard.backends.postgres.migration import migrations, pending
from callboard.backends.postgres.server import Connection, Server
from callboard.errors import SchemaTooNew

_TIME = "SELECT (extract(epoch FROM clock_timestamp()) * 1000000000)::bigint"
_SCHEMA = """
    SELECT pg_get_userbyid(nspowner), pg_has_role(nspowner, 'USAGE'), has_schema_privilege(oid, 'USAGE')
    FROM pg_namespace WHERE nspname = $1"""
_MAY_CREATE = "SELECT has_database_privilege(current_database(), 'CREATE')"
_READ_ONLY = "SELECT pg_is_in_recovery() OR current_setting('transaction_read_only') = 'on'"
_TABLES = """
    SELECT t.name, has_table_privilege(c.oid, 'INSERT') AND has_table_privilege(c.oid, 'SELECT')
               AND has_sequence_privilege(format('offsets_%s', t.id), 'USAGE'),
           pg_has_role(c.relowner, 'USAGE')
    FROM topics t JOIN pg_class c ON c.oid = to_regclass(format('records_%s', t.id)) WHERE t.name = ANY($1)"""

_KEEPERS = """
    SELECT t.name, held.pid, coalesce(a.usename, '') AS usename, extract(epoch FROM clock_timestamp() - w.since)
    FROM topics t
    JOIN pg_locks held ON held.locktype = 'advisory' AND held.classid = 1128419140 AND held.objid = t.id
        AND held.database = (SELECT oid FROM pg_database WHERE datname = current_database()) AND held.granted
    JOIN LATERAL (
        SELECT min(waitstart) AS since FROM pg_locks w
        WHERE w.locktype = 'advisory' AND w.classid = held.classid AND w.objid = held.objid
            AND w.database = held.database AND NOT w.granted) w
        ON w.since < clock_timestamp() - interval '1 second'
    LEFT JOIN pg_stat_activity a ON a.pid = held.pid
    WHERE t.name = ANY($1)"""
"""The holder of the lock that appends need, if one has waited for a second: an append takes milliseconds."""


async def examine_server(server: Server, clock: Clock, topics: Sequence[str] = ()) -> list[Finding]:
    """Check the server, the schema, and the existing topics. Raises asyncpg's errors."""
    connection = await server.connect()
    try:
        version = await connection.fetchval("SHOW server_version")
        found = [ok(f"{server.name} answers: PostgreSQL {version}"), *await _settings(server, connection)]
        found.append(await _clock(server, connection, clock))
        return [*found, *await _schema(server, connection, topics)]
    finally:
        connection.terminate()


async def _settings(server: Server, connection: Connection) -> list[Finding]:
    found = []
    if await connection.fetchval(_READ_ONLY):
        found.append(
            problem(
                f"{server.name} can only be read: it is a standby, or default_transaction_read_only is set",
                "name the primary in the URL, or add target_session_attrs=read-write to it",
            )
        )
    if await connection.fetchval("SHOW fsync") == "off":
        found.append(problem(f"{server.name} loses records with the power", "set fsync = on in postgresql.conf"))
    return found


async def _clock(server: Server, connection: Connection, clock: Clock) -> Finding:
    before_ns = clock()
    server_ns = await connection.fetchval(_TIME)
    return clock_finding(server.name, server_ns, before_ns, clock())


async def _schema(server: Server, connection: Connection, topics: Sequence[str]) -> list[Finding]:
    row = await connection.fetchrow(_SCHEMA, server.schema)
    if row is None:
        return [await _absent(server, connection)]
    owner, owned, usable = row
    if not usable:
        return [problem(f"schema {server.schema} is hidden from this user", _grant(owner, server))]
    try:
        missing = await pending(connection)
    except SchemaTooNew as error:
        return [problem_of(error)]
    newest = max(migrations())
    if missing:
        fix = "stop every process of this board, then run `callboard migrate`"
        have = f"lacks version {missing[0]} of {newest}" if min(migrations()) < missing[0] else "has no tables yet"
        return [problem(f"schema {server.schema} {have}", fix)]
    found = [ok(f"schema {server.schema} has version {newest}, which this callboard uses")]
    found += [
        problem(
            f"session {process} of user {user!r} has blocked appends to topic {topic} for {seconds:.0f} s",
            f"end its transaction, or the session: SELECT pg_terminate_backend({process})",
        )
        for topic, process, user, seconds in await connection.fetch(_KEEPERS, list(topics))
    ]
    rows = await connection.fetch(_TABLES, list(topics))
    if stopped := [name for name, appends, _ in rows if not appends]:
        found.append(problem(f"this user may not append to {', '.join(stopped)}", _grant(owner, server)))
    elif not owned or not all(trims for _, _, trims in rows):
        what = f"this user does not own schema {server.schema}, so it can neither add partitions nor trim"
        found.append(problem(what, _grant(owner, server)))
    elif topics:
        found.append(ok("this user may append, trim and create topics"))
    return found


async def _absent(server: Server, connection: Connection) -> Finding:
    what = f"{server.name} has no schema {server.schema} yet"
    if await connection.fetchval(_MAY_CREATE):
        return problem(what, "run `callboard init`, or start any publisher or subscriber, which creates it")
    database, user = server.name.rpartition("/")[2], await connection.fetchval("SELECT current_user")
    return problem(f"{what}, and this user may not create it", f'GRANT CREATE ON DATABASE "{database}" TO "{user}"')


def _grant(owner: str, server: Server) -> str:
    return f'GRANT "{owner}" TO the user of the URL, or name user {owner} in the URL of {server.name}'
