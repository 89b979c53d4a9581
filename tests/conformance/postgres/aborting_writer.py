"""A process that appends for some seconds, by the log and in its own transactions, half of which it rolls back.

``aborting_writer.py URL NAME SECONDS`` says ``OFFSET NAME NUMBER`` for each record that is committed.
"""

import asyncio
import random
import sys
import time

from callboard.backends.logs.postgres import PostgresLog, append_within
from callboard.backends.postgres.server import Connection, Server
from callboard.messages.record import NewRecord


async def append_in_transaction(
    db: Connection, schema: str, records: list[NewRecord], dice: random.Random
) -> list[int]:
    """The offsets, or none if it was rolled back."""
    transaction = db.transaction()
    await transaction.start()
    offsets = await append_within(db, "package", records, schema=schema)
    await asyncio.sleep(dice.random() * 0.002)
    if dice.random() < 0.5:
        await transaction.rollback()
        return []
    await transaction.commit()
    return offsets


async def write(url: str, name: str, seconds: float) -> None:
    log, server, dice = PostgresLog(url), Server.of(url), random.Random(name)
    db, number, until = await server.connect(), 0, time.monotonic() + seconds
    while time.monotonic() < until:
        texts = [f"{name} {number + part}" for part in range(dice.randint(1, 3))]
        number += len(texts)
        records = [NewRecord(payload=text.encode(), key=text if dice.random() < 0.5 else "") for text in texts]
        if dice.random() < 0.5:
            offsets = await log.append("package", records)
        else:
            offsets = await append_in_transaction(db, server.schema, records, dice)
        sys.stdout.writelines(f"{offset} {text}\n" for offset, text in zip(offsets, texts, strict=False))
    await db.close()
    await log.close()


asyncio.run(write(sys.argv[1], sys.argv[2], float(sys.argv[3])))
