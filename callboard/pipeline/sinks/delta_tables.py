"""Publishes the tables of a run as Delta tables: each in one commit, which also records how far the table reaches."""

import asyncio
import os
import re
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow.dataset as ds

from callboard.backends.address import demand_path, shown
from callboard.errors import ArchiveBusy, BlobUnavailable, ConfigError, ExtraMissing, LogReplaced
from callboard.pipeline.sinks.reach import Reach

try:
    from deltalake import CommitProperties, DeltaTable, Transaction, write_deltalake
    from deltalake.exceptions import CommitFailedError, DeltaError
except ModuleNotFoundError as missing:
    raise ExtraMissing("Delta tables need deltalake; run: pip install 'callboard[delta]'") from missing

if TYPE_CHECKING:
    from callboard.backends.blob_stores.s3.bucket import Bucket

ATTEMPTS = 5
"""Tries to commit. One that fails has lost to another commit, which usually wrote the same."""

_COLOUR = re.compile(r"\x1b\[[0-9;]*m")


@dataclass(frozen=True, slots=True)
class DeltaPlace:
    """A folder, or a prefix in a bucket, with a Delta table for each projection."""

    root: str
    bucket: "Bucket | None" = None

    @classmethod
    def of(cls, place: str, base: Path) -> "DeltaPlace":
        """Parse ``place``: a folder, or ``s3://BUCKET/PREFIX`` with the options of a blob store.

        Args:
            place: as written by the user.
            base: the folder that relative paths start from.

        Raises:
            ConfigError: it is neither.
            ExtraMissing: S3 needs a package that is not installed.
        """
        scheme, colon, _ = place.partition("://")
        if not colon and place:
            return cls(str(base / demand_path(place)))
        if scheme != "s3":
            raise ConfigError(f"{shown(place)!r} is no place for Delta tables; write a folder, or s3://BUCKET/PREFIX")
        from callboard.backends.blob_stores.s3.bucket import Bucket

        bucket = Bucket.of(place)
        return cls(bucket.url, bucket)

    def options(self) -> dict[str, str]:
        """The bucket's options for deltalake; credentials come from where AWS tools look for them."""
        if self.bucket is None:
            return {}
        endpoint = self.bucket.endpoint_url or os.environ.get("AWS_ENDPOINT_URL_S3", "")
        allow_http = "true" if endpoint.startswith("http://") else ""
        options = {
            "AWS_ENDPOINT_URL": endpoint,
            "AWS_REGION": self.bucket.region,
            "AWS_ALLOW_HTTP": allow_http,
            "AWS_FORCE_CREDENTIAL_LOAD": "true",
        }  # fmt: skip - else profiles are ignored
        return {name: value for name, value in options.items() if value}

    def check(self) -> None:
        """Raise ``ConfigError`` for a bucket in which concurrent commits would overwrite each other."""
        bucket = self.bucket
        if bucket is None:
            return
        from callboard.backends.blob_stores.s3.conditions import declines_to_overwrite
        from callboard.backends.blob_stores.s3.connection import Connection

        async def ask() -> bool:
            connection = Connection(bucket)
            try:
                async with connection as s3:
                    return await declines_to_overwrite(s3)
            finally:
                await connection.close()

        if not asyncio.run(ask()):
            raise ConfigError(
                f"{self.root} ignores If-None-Match, so commits to a Delta table could overwrite each other; "
                "publish to a folder, or to a server that honours it"
            )


def publish(place: DeltaPlace, folder: Path, reach: Reach) -> list[str]:
    """Replace the Delta table of each of these tables; returns the names of the replaced ones.

    A table that already reaches as far stays as it is. A run that is killed leaves each table old or new, and the next
    run replaces the old ones. A new table is created empty.

    Args:
        place: where the Delta tables are, after ``check``.
        folder: of a complete run, with a folder of Parquet files for each table.
        reach: what the run has read.

    Raises:
        LogReplaced: an existing table is about another log, or not made by callboard.
        ArchiveBusy: others keep committing to the same table.
        BlobUnavailable: the place cannot be used now.
    """
    names = sorted(each.name for each in folder.iterdir() if each.is_dir())
    try:
        return [name for name in names if _replace(place, folder / name, reach)]
    except (DeltaError, OSError) as error:
        said = " ".join(_COLOUR.sub("", str(error)).split())
        raise BlobUnavailable(f"{place.root} cannot be used: {said}; try again") from error


def _replace(place: DeltaPlace, files: Path, reach: Reach) -> bool:
    """Compare and set: deltalake rejects a commit if another has recorded the table's reach in the meantime."""
    uri, options = f"{place.root}/{files.name}", place.options()
    rows = ds.dataset(files, format="parquet")
    told = [Transaction(_app(reach, topic), stop) for topic, stop in reach.stops.items()]
    for _ in range(ATTEMPTS):
        try:
            # Concurrent writers of a missing table would all succeed; of concurrent creators of an empty one, one does.
            if not DeltaTable.is_deltatable(uri, options):
                begun = CommitProperties(max_commit_retries=0, app_transactions=[Transaction(_app(reach), 0)])
                DeltaTable.create(
                    uri, rows.schema, mode="ignore", name=files.name, storage_options=options, commit_properties=begun
                )
            table = DeltaTable(uri, storage_options=options)
            if not _is_behind(table, reach):
                return False
            stream = rows.scanner(batch_readahead=2, fragment_readahead=1).to_reader()  # else 16 files are in memory
            write_deltalake(
                table, stream, mode="overwrite", schema_mode="overwrite",
                commit_properties=CommitProperties(app_transactions=told),
            )  # fmt: skip
        except CommitFailedError:
            continue
        table.vacuum(dry_run=False, full=True)  # files replaced a week ago, or left behind by a killed run
        return True
    raise ArchiveBusy(f"others keep replacing the Delta table {uri}; let only one publish there")


def _is_behind(table: DeltaTable, reach: Reach) -> bool:
    if table.transaction_version(_app(reach)) is None:
        raise LogReplaced(
            f"the Delta table {table.table_uri} is not about this log ({reach.log_id[:8]}); remove it, or name "
            "another place"
        )
    return reach.is_beyond({topic: table.transaction_version(_app(reach, topic)) or 0 for topic in reach.stops})


def _app(reach: Reach, topic: str = "") -> str:
    """The name under which a commit keeps a number; without a topic, the mark of tables of this log."""
    return "/".join(filter(None, ("callboard", reach.log_id, topic)))
