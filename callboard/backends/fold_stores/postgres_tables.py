"""The tables of a fold in a PostgreSQL database, and its view, in the caller's transaction."""

from collections.abc import Sequence

from callboard.backends.fold_store import Fold, Table
from callboard.backends.fold_stores.generation import Generation, opened, outdated_by
from callboard.backends.postgres import asyncpg
from callboard.backends.postgres.server import Connection, Server
from callboard.errors import RepositoryOccupied

TYPES = {int: "bigint", bool: "boolean", float: "double precision", str: "text", bytes: "bytea"}

_LOCK = "SELECT pg_advisory_xact_lock(1128416847, hashtext($1))"  # CBFO
_HAS_SCHEMA = "SELECT to_regnamespace($1) IS NOT NULL"
_LACKS = "SELECT bool_or(to_regclass(name) IS NULL) FROM unnest($1::text[]) AS name"
_TABLES = "SELECT tablename FROM pg_tables WHERE schemaname = $1 AND starts_with(tablename, $2) ORDER BY tablename"
_SHOWN = """
SELECT relkind = 'v' AS is_view, CASE relkind WHEN 'v' THEN pg_get_viewdef(oid) ELSE '' END AS text
FROM pg_class WHERE relname = $1 AND relnamespace = to_regnamespace($2)"""
_FOLDS = """\
CREATE TABLE {} (
    id serial PRIMARY KEY, name text NOT NULL, version bigint NOT NULL, code text NOT NULL,
    mark text NOT NULL DEFAULT '', published boolean NOT NULL DEFAULT false
)"""


class PostgresTables:
    """Which tables are the fold's: those with ``number``; 0 is not known yet."""

    def __init__(self, server: Server, fold: Fold) -> None:
        self._server, self._fold = server, fold
        self._schema = f'"{server.schema}"'
        self._folds = f"{self._schema}.callboard_folds"
        self.number = 0

    def name(self, table: Table) -> str:
        """The full name of a table."""
        return f"{self._schema}.callboard_fold_{self.number}_{table.name}"

    def names(self) -> list[str]:
        """All of them, in the order in which they are locked and dropped."""
        return sorted(map(self.name, self._fold.tables))

    async def mark(self, connection: Connection, how: str = "") -> str | None:
        """The mark, if the rows are still this fold's: a restored database may have given their number to others."""
        its = self.number, self._fold.name, self._fold.version, self._fold.code
        select = f"SELECT mark FROM {self._folds} WHERE (id, name, version, code) = ($1, $2, $3, $4) {how}"  # noqa: S608
        found: str | None = await connection.fetchval(select, *its)
        return found

    async def set_mark(self, connection: Connection, mark: str) -> None:
        """Replace the mark."""
        await connection.execute(f"UPDATE {self._folds} SET mark = $1 WHERE id = $2", mark, self.number)  # noqa: S608

    async def lock(self, connection: Connection) -> None:
        """To be held while tables come and go; it is taken before any row."""
        await connection.execute(_LOCK, self._server.schema)

    async def find(self, connection: Connection) -> list[Generation]:
        """Find the rows of this version of the fold, if there are any. Return what is in the way of new ones."""
        self.number = 0
        if await connection.fetchval(_LACKS, [self._folds]):
            return []
        found, outdated = opened(await self._known(connection), self._fold, self._server.name)
        if found is None:
            return list(outdated)
        self.number = found.id
        if not await connection.fetchval(_LACKS, self.names()):
            return []
        self.number = 0  # tables were removed by hand
        return [*outdated, found]

    async def open(self, connection: Connection) -> None:
        """Find the rows of this version of the fold, or begin them."""
        await self.lock(connection)
        outdated = await self.find(connection)
        if self.number:
            return
        if not await connection.fetchval(_HAS_SCHEMA, self._schema):
            await connection.execute(f"CREATE SCHEMA {self._schema}")
        if await connection.fetchval(_LACKS, [self._folds]):  # IF NOT EXISTS demands the right to create it anyway
            await connection.execute(_FOLDS.format(self._folds))
        await self._drop(connection, outdated)
        await self.begin(connection)

    async def begin(self, connection: Connection) -> None:
        """Create new tables."""
        insert = f"INSERT INTO {self._folds} (name, version, code) VALUES ($1, $2, $3) RETURNING id"  # noqa: S608
        self.number = await connection.fetchval(insert, self._fold.name, self._fold.version, self._fold.code)
        for table in self._fold.tables:
            columns = "".join(f', "{name}" {TYPES[kind]}' for name, kind in table.columns)
            await connection.execute(f'CREATE TABLE {self.name(table)} (key text COLLATE "C" PRIMARY KEY{columns})')

    async def publish(self, connection: Connection) -> None:
        """Let the view show these rows, and remove older ones."""
        known = await self._known(connection)
        outdated = outdated_by(self.number, known, self._fold, self._server.name)
        await self._show(connection, known)
        await self._drop(connection, outdated)
        await connection.execute(f"UPDATE {self._folds} SET published = true WHERE id = $1", self.number)  # noqa: S608

    async def _known(self, connection: Connection) -> list[Generation]:
        known = f"SELECT id, version, code, published FROM {self._folds} WHERE name = $1 ORDER BY id"  # noqa: S608
        return [Generation(*row) for row in await connection.fetch(known, self._fold.name)]

    async def _drop(self, connection: Connection, generations: Sequence[Generation]) -> None:
        for each in generations:  # first its row: who writes to the tables holds that
            await connection.execute(f"DELETE FROM {self._folds} WHERE id = $1", each.id)  # noqa: S608 - our own name
            found = await connection.fetch(_TABLES, self._server.schema, f"callboard_fold_{each.id}_")
            if names := ", ".join(f'{self._schema}."{row[0]}"' for row in found):
                await connection.execute(f"DROP TABLE {names}")

    async def _show(self, connection: Connection, known: Sequence[Generation]) -> None:
        """Where its columns allow it, the view is replaced: with its grants, and what uses it."""
        view, there = self._fold.view, await connection.fetchrow(_SHOWN, self._fold.view, self._schema)
        if there is not None and not any(f"callboard_fold_{each.id}_" in there["text"] for each in known):
            kind = "view" if there["is_view"] else "table"
            what = f"{self._server.name}, schema {self._server.schema}, has a {kind} {view!r} of something else"
            raise RepositoryOccupied(f"{what}; rename that, or the event of the rows")
        if there is not None and f"callboard_fold_{self.number}_" in there["text"]:
            return
        name = f'{self._schema}."{view}"'
        create = f"VIEW {name} AS SELECT * FROM {self.name(self._fold.tables[0])}"  # noqa: S608 - our own names
        await connection.execute("SAVEPOINT before")
        try:
            await connection.execute(f"CREATE OR REPLACE {create}")
        except asyncpg.InvalidTableDefinitionError:
            await connection.execute("ROLLBACK TO before")
            await connection.execute(f"DROP VIEW {name}")
            await connection.execute(f"CREATE {create}")
