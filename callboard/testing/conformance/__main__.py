"""Runs the conformance suites, on callboard's own backends or on any other.

    python -m callboard.testing.conformance                      # every backend of callboard, with its servers
    python -m callboard.testing.conformance log                  # its logs alone
    python -m callboard.testing.conformance log mylog://host     # a log of yours
    python -m callboard.testing.conformance repository 'sqlite:/tmp/conformance-{}.db'
    python -m callboard.testing.conformance planted              # the suites themselves, on broken backends

The exit code is 0 only if every check passed or concerns something that is not declared.
"""

import argparse
import json
import logging
import sys
from collections.abc import Sequence
from typing import Any, TextIO

import structlog

from callboard.errors import ConfigError
from callboard.testing.conformance import blob_store, fold_store, log, repository
from callboard.testing.conformance.candidates import named
from callboard.testing.conformance.matrix import Matrix
from callboard.testing.conformance.planted import find_planted_bugs

KINDS = ("log", "blob-store", "repository", "fold-store")


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the selected suites; 0 if nothing failed."""
    parser = argparse.ArgumentParser(
        prog="python -m callboard.testing.conformance", description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )  # fmt: skip
    parser.add_argument("kind", nargs="?", choices=(*KINDS, "planted"), help="one suite; all by default")
    parser.add_argument("url", nargs="?", help="what to test instead of callboard's own backends")
    parser.add_argument("--only", metavar="NAME,NAME", help="some of callboard's own, such as sqlite,postgres-15")
    parser.add_argument("--json", action="store_true", help="print the result as JSON, and the tables to stderr")
    asked = parser.parse_args(arguments)
    # The backends log every failure, and here failures are provoked.
    structlog.configure(wrapper_class=structlog.make_filtering_bound_logger(logging.CRITICAL))
    out = sys.stderr if asked.json else sys.stdout
    if asked.kind == "planted":
        result: Any = find_planted_bugs(out)
        failed = None in result.values()
    else:
        only = asked.only.split(",") if asked.only else []
        try:
            matrices = [_matrix(kind, asked.url, only, out) for kind in KINDS if asked.kind in {None, kind}]
        except ConfigError as error:
            parser.error(str(error))
        for matrix in matrices:
            matrix.run()
        result = {matrix.title: {"checks": matrix.cells, "problems": matrix.problems} for matrix in matrices}
        failed = any(matrix.problems for matrix in matrices)
    if asked.json:
        json.dump(result, sys.stdout, indent=1)
        sys.stdout.write("\n")
    return int(failed)


def _matrix(kind: str, url: str | None, only: Sequence[str], out: TextIO) -> Matrix[Any]:
    # Imported here: to test another backend, what callboard's own need is not required.
    if kind == "log":
        from callboard.testing.conformance.candidates import logs

        return Matrix("log", log.ALL_CHECKS, [named.named_log(url)] if url else logs.own_logs(only), out)
    if kind == "blob-store":
        from callboard.testing.conformance.candidates import blob_stores

        stores = [named.named_blob_store(url)] if url else blob_stores.own_blob_stores(only)
        return Matrix("blob store", blob_store.ALL_CHECKS, stores, out)
    if kind == "fold-store":
        from callboard.testing.conformance.candidates import fold_stores

        folds = [named.named_fold_store(url)] if url else fold_stores.own_fold_stores(only)
        return Matrix("fold store", fold_store.ALL_CHECKS, folds, out)
    from callboard.testing.conformance.candidates import repositories

    found = [named.named_repository(url)] if url else repositories.own_repositories(only)
    return Matrix("repository", repository.ALL_CHECKS, found, out)


if __name__ == "__main__":
    sys.exit(main())
