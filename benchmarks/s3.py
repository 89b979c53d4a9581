"""How fast blob stores are: S3 beside bare aiobotocore on the same server, the folder beside bare system calls.

Usage: ``python benchmarks/s3.py``, with ``TMPDIR`` on the disk to be measured; needs ``pip install 'moto[server]'``.

The bare client makes the same requests: it looks whether the blob exists, puts it in one request or in parallel parts
of the same size, and gets it into a file; it computes no digest. The server is a process on this machine, so the
figures show the client's cost. A put without the look is a second peer. The bare folder peer writes, digests, syncs
and links the same content, and syncs the folder.
"""

import asyncio
import hashlib
import os
import tempfile
import time
from collections.abc import Awaitable, Callable, Iterator
from contextlib import suppress
from functools import partial
from itertools import count
from pathlib import Path
from typing import Any, NamedTuple

from aiobotocore.config import AioConfig
from aiobotocore.session import get_session
from botocore.exceptions import ClientError
from report import Report, rounds

from callboard.backends.blob_store import CHUNK_BYTES
from callboard.backends.blob_stores.folder import FolderBlobStore
from callboard.backends.blob_stores.s3 import S3BlobStore
from callboard.backends.blob_stores.s3.parts import PART_BYTES
from callboard.backends.blob_stores.s3.upload import PARTS_AT_ONCE
from callboard.testing.servers.s3 import S3Server, moto_server

ROUNDS = 5
BUCKET = "benchmark"
MIB = 1 << 20


class Load(NamedTuple):
    """A number of blobs of one size, one after another."""

    blobs: int
    size: int


LOADS = {"256 kB": Load(12, 256 << 10), "8 MiB": Load(4, PART_BYTES), "32 MiB": Load(1, 32 * MIB)}
_numbers = count()


def main() -> None:
    report = Report("s3")
    with moto_server() as server, asyncio.Runner() as runner:
        os.environ.update(server.environment)
        server.create_bucket(BUCKET)
        store = S3BlobStore(server.url(BUCKET))
        client = runner.run(bare_client(server).__aenter__())
        for name, load in LOADS.items():
            s3(report, runner, store, client, name, load)
        runner.run(client.__aexit__(None, None, None))
        runner.run(store.close())
    for name, load in LOADS.items():
        folder(report, name, load)
    report.write()


def bare_client(server: S3Server) -> Any:
    config = AioConfig(request_checksum_calculation="when_required", response_checksum_validation="when_required")
    return get_session().create_client("s3", endpoint_url=server.endpoint_url, config=config)


def s3(report: Report, runner: asyncio.Runner, store: S3BlobStore, client: Any, name: str, load: Load) -> None:
    def timed(work: Callable[[list[bytes], Path], Awaitable[float]]) -> float:
        contents = [new_content(load.size) for _ in range(load.blobs)]
        with tempfile.TemporaryDirectory() as spool:
            return load.blobs * load.size / MIB / runner.run(work(contents, Path(spool)))

    figures = rounds(
        ROUNDS,
        {
            "put": partial(timed, partial(put, store)),
            "bare put": partial(timed, partial(bare_put, client, True)),
            "blind put": partial(timed, partial(bare_put, client, False)),
            "get": partial(timed, partial(get, store)),
            "bare get": partial(timed, partial(bare_get, client)),
        },
    )
    for what in ("put", "get"):
        report.row(f"{what} blobs of {name} in S3", figures[what], figures[f"bare {what}"], unit="MiB/s",
                   peer_name="aiobotocore", goal=0.8)  # fmt: skip
    report.row(f"put blobs of {name} in S3", figures["put"], figures["blind put"], unit="MiB/s",
               peer_name="aiobotocore", note="the peer does not look first")  # fmt: skip


async def put(store: S3BlobStore, contents: list[bytes], _: Path) -> float:
    digests = [hashlib.sha256(content).hexdigest() for content in contents]
    start = time.perf_counter()
    for digest, content in zip(digests, contents, strict=True):
        await store.put(digest, chunks_of(content))
    taken = time.perf_counter() - start
    for digest in digests:
        await store.delete(digest)
    return taken


async def bare_put(client: Any, look: bool, contents: list[bytes], _: Path) -> float:
    keys = [f"bare/{number}" for number in range(len(contents))]
    start = time.perf_counter()
    for key, content in zip(keys, contents, strict=True):
        if look:
            with suppress(ClientError):  # it is not there
                await client.head_object(Bucket=BUCKET, Key=key)
        if len(content) <= PART_BYTES:
            await client.put_object(Bucket=BUCKET, Key=key, Body=content, IfNoneMatch="*")
        else:
            await bare_multipart(client, key, content)
    taken = time.perf_counter() - start
    for key in keys:
        await client.delete_object(Bucket=BUCKET, Key=key)
    return taken


async def bare_multipart(client: Any, key: str, content: bytes) -> None:
    upload = (await client.create_multipart_upload(Bucket=BUCKET, Key=key))["UploadId"]
    turns = asyncio.Semaphore(PARTS_AT_ONCE)

    async def send(number: int) -> dict[str, Any]:
        part = content[(number - 1) * PART_BYTES : number * PART_BYTES]
        async with turns:
            answer = await client.upload_part(
                Bucket=BUCKET, Key=key, UploadId=upload, PartNumber=number, Body=part
            )
        return {"PartNumber": number, "ETag": answer["ETag"]}

    parts = await asyncio.gather(*map(send, range(1, -(-len(content) // PART_BYTES) + 1)))
    await client.complete_multipart_upload(
        Bucket=BUCKET, Key=key, UploadId=upload, MultipartUpload={"Parts": parts}, IfNoneMatch="*"
    )


async def get(store: S3BlobStore, contents: list[bytes], spool: Path) -> float:
    digests = [hashlib.sha256(content).hexdigest() for content in contents]
    for digest, content in zip(digests, contents, strict=True):
        await store.put(digest, [content])
    start = time.perf_counter()
    for digest in digests:
        await store.fetch(digest, spool)
    taken = time.perf_counter() - start
    for digest in digests:
        await store.delete(digest)
    return taken


async def bare_get(client: Any, contents: list[bytes], spool: Path) -> float:
    keys = [f"bare/{number}" for number in range(len(contents))]
    for key, content in zip(keys, contents, strict=True):
        await client.put_object(Bucket=BUCKET, Key=key, Body=content)
    start = time.perf_counter()
    for number, key in enumerate(keys):
        answer = await client.get_object(Bucket=BUCKET, Key=key)
        async with answer["Body"] as body:
            with (spool / str(number)).open("wb") as file:
                async for chunk in body.iter_chunks(CHUNK_BYTES):
                    file.write(chunk)
    taken = time.perf_counter() - start
    for key in keys:
        await client.delete_object(Bucket=BUCKET, Key=key)
    return taken


def folder(report: Report, name: str, load: Load) -> None:
    def timed(work: Callable[[list[bytes], Path], float]) -> float:
        contents = [new_content(load.size) for _ in range(load.blobs)]
        with tempfile.TemporaryDirectory() as root:
            return load.blobs * load.size / MIB / work(contents, Path(root))

    figures = rounds(ROUNDS, {"put": partial(timed, folder_put), "bare put": partial(timed, bare_folder_put)})
    report.row(f"put blobs of {name} in a folder", figures["put"], figures["bare put"], unit="MiB/s",
               peer_name="write+sha256+fsync+link+fsync", goal=0.8)  # fmt: skip


def folder_put(contents: list[bytes], root: Path) -> float:
    digests = [hashlib.sha256(content).hexdigest() for content in contents]

    for number in range(256):
        (root / f"{number:02x}").mkdir()  # as in any store that is in use

    async def body() -> float:
        store = FolderBlobStore(root)
        start = time.perf_counter()
        for digest, content in zip(digests, contents, strict=True):
            await store.put(digest, chunks_of(content))
        taken = time.perf_counter() - start
        await store.close()
        return taken

    return asyncio.run(body())


def bare_folder_put(contents: list[bytes], root: Path) -> float:
    folder = os.open(root, os.O_RDONLY)
    start = time.perf_counter()
    for number, content in enumerate(contents):
        found = hashlib.sha256()
        with tempfile.NamedTemporaryFile(dir=root) as temporary:
            for chunk in chunks_of(content):
                found.update(chunk)
                temporary.write(chunk)
            temporary.flush()
            os.fsync(temporary.fileno())
            (root / f"{number}-{found.hexdigest()}").hardlink_to(temporary.name)
        os.fsync(folder)
    taken = time.perf_counter() - start
    os.close(folder)
    return taken


def new_content(size: int) -> bytes:
    """Content that no blob has yet."""
    return next(_numbers).to_bytes(8, "big") * (size // 8)


def chunks_of(content: bytes) -> Iterator[bytes]:
    for start in range(0, len(content), CHUNK_BYTES):
        yield content[start : start + CHUNK_BYTES]


if __name__ == "__main__":
    main()
