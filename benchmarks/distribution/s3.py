"""A bucket: ``aws s3 sync`` uploads what is newer, then each target downloads what is newer.

The server is S3Proxy with its objects in memory, on the same two cores. A request for each small file is slow, so there
are two targets.
"""

import os
import shutil
import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from functools import partial
from pathlib import Path

from distribution.distributor import Distributor, Missing, folders, for_each, run
from distribution.tree import Tree

from callboard.testing.servers.s3 import s3proxy_server

TARGETS_MAX = 2
CLIENT = Path(__file__).parents[2] / "build" / "awscli"
"""A virtual environment of its own, because awscli needs another botocore than aiobotocore."""


@contextmanager
def s3_sync(folder: Path, files: int, targets: int) -> Iterator[dict[str, Distributor]]:
    aws = client()
    with ExitStack() as stack:
        try:
            server = stack.enter_context(s3proxy_server())
        except RuntimeError as error:
            raise Missing(str(error)) from error
        server.create_bucket("tree")
        tree, copies = Tree(folder / "tree", files), folders(folder, min(targets, TARGETS_MAX))
        settings = server.environment | {
            "AWS_DEFAULT_REGION": server.environment["AWS_REGION"],
            "AWS_ENDPOINT_URL": server.endpoint_url,
            "AWS_REQUEST_CHECKSUM_CALCULATION": "when_required",  # S3Proxy knows no trailing checksums
        }
        sync = partial(run, aws, "s3", "sync", "--delete", "--only-show-errors", environment=settings)

        def everything() -> float:
            sync(tree.root, "s3://tree")
            return for_each(partial(sync, "s3://tree"), copies)

        yield {"aws s3 sync": Distributor(tree, copies, lambda _: everything(), everything)}


def client() -> str:
    """The program ``aws``, which is installed if there is none."""
    if found := shutil.which("aws"):
        return found
    if not (CLIENT / "bin" / "aws").exists():
        try:
            run(sys.executable, "-m", "venv", CLIENT)
            run(CLIENT / "bin" / "python", "-m", "pip", "install", "awscli")
        except RuntimeError as error:
            raise Missing(f"awscli cannot be installed: {error}") from error
    return os.fspath(CLIENT / "bin" / "aws")
