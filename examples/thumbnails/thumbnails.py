"""Makes a thumbnail of each picture in the folder ``pictures``, once, also if workers are killed.

    callboard init
    callboard run worker thumbnails:jobs     # in several terminals, if you like
    python add.py

A picture is read again when it has changed.
"""

import asyncio
from pathlib import Path

import ppm
from pydantic import BaseModel

from callboard import Callboard, CancelJob, JobRegistry, NewJob, RetryJob, RunningJob

PICTURES, THUMBNAILS, WIDTH = Path("pictures"), Path("thumbnails"), 64

jobs = JobRegistry()


class Wanted(BaseModel):
    """A picture, as it was when somebody looked."""

    name: str
    changed_ns: int


class Made(BaseModel):
    """A thumbnail."""

    file: str
    width: int
    height: int


@jobs.job("thumbnails/make", retries=5, timeout_s=300)
def make(its: Wanted, job: RunningJob) -> Made:
    """Make one thumbnail. It may run twice, if a worker is killed at the end: the second time changes nothing."""
    try:
        picture = ppm.read(PICTURES / its.name)
    except FileNotFoundError:
        raise CancelJob(f"{its.name} was removed") from None
    except ppm.NotComplete as error:
        raise RetryJob(str(error), delay_s=1) from error
    except ValueError as error:
        raise CancelJob(str(error)) from error
    job.progress(steps=picture.height)
    small = ppm.smaller(picture, WIDTH, tell=job.step)
    THUMBNAILS.mkdir(exist_ok=True)
    ppm.write(THUMBNAILS / its.name, small)
    return Made(file=str(THUMBNAILS / its.name), width=small.width, height=small.height)


@jobs.job("thumbnails/look")
async def look() -> list[int]:
    """Add a job for each picture without a thumbnail, or with an older one; the result is their ids."""
    new = await asyncio.to_thread(wanted)
    async with Callboard.from_config() as board:
        return [job.id for job in await board.jobs.add_all(new)]


def wanted() -> list[NewJob]:
    """The jobs. While one of them has not ended, and for a day after it was added, the same is not added again."""
    found = []
    for picture in sorted(PICTURES.glob("*.ppm")):
        changed_ns, made = picture.stat().st_mtime_ns, THUMBNAILS / picture.name
        if not made.exists() or made.stat().st_mtime_ns < changed_ns:
            payload = Wanted(name=picture.name, changed_ns=changed_ns)
            found.append(make.new(payload, unique=f"{picture.name} {changed_ns}", unique_s=86_400))
    return found
