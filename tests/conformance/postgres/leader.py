"""A process that writes to a repository as the leader of an epoch, until it is refused or has written often enough.

``leader.py URL EPOCH TIMES LOCK`` says ``wrote`` for each write and ``refused`` at the end. With LOCK ``unlocked`` the
lock of its session does nothing, as behind a pool that gives each transaction another session.
"""

import sys
from contextlib import suppress

from callboard.backends.fence import Token
from callboard.backends.repositories.postgres import store as module
from callboard.backends.repositories.postgres.store import PostgresStore
from callboard.errors import LeaderReplaced, RepositoryBusy
from callboard.testing.conformance.repository.harness import file


def opened(store: PostgresStore) -> None:
    while True:
        with suppress(RepositoryBusy):
            store.open()
            return


def lead(url: str, epoch: str, times: int, lock: str) -> None:
    if lock == "unlocked":
        module._LOCK = "SELECT $1::integer"
    store = PostgresStore(url)
    opened(store)
    for _ in range(times):
        try:
            store.apply([file("/leader", epoch)], epoch.encode(), Token("log", int(epoch)))
        except LeaderReplaced:
            sys.stdout.write("refused\n")
            break
        sys.stdout.write("wrote\n")
        sys.stdout.flush()
        if lock == "locked":
            store.close()
            opened(store)
    store.close()


lead(sys.argv[1], sys.argv[2], int(sys.argv[3]), sys.argv[4])
