"""The commands of a story. Each is a function of the stage and of words; its answer is a list of lines."""

import asyncio
import re
import shlex
from collections.abc import Awaitable, Callable
from typing import Any

from stage import Stage

from callboard.actors.core.backoff import Backoff
from callboard.backends.log import Retention
from callboard.backends.repository import EntryKind
from callboard.board.command.wording import told
from callboard.board.views import CommandResult, SubscriberStatus
from callboard.errors import CallboardError

Options = dict[str, Any]
SECONDS = {"s": 1, "min": 60, "h": 3600, "d": 86400}


async def perform(stage: Stage, command: str) -> list[str]:
    """Carry out a line; errors are answers too."""
    verb, *words = shlex.split(command)
    plain = [word for word in words if "=" not in word]
    options = {name: value(text) for name, _, text in (word.partition("=") for word in words if "=" in word)}
    try:
        return await VERBS[verb](stage, plain, options)
    except CallboardError as error:
        return [said(f"{type(error).__name__}: {error}")]


def value(text: str) -> Any:
    if text in ("true", "false"):
        return text == "true"
    if match := re.fullmatch(r"(\d+)(s|min|h|d)", text):
        return int(match[1]) * SECONDS[match[2]]
    return int(text) if re.fullmatch(r"-?\d+", text) else text


async def publish(stage: Stage, words: list[str], options: Options) -> list[str]:
    """publish PATH ... TEXT [times=NUMBER] [by=PUBLISHER] [id=REQUEST] [to=NAME] [arrives=HOW]: publish files with
    this text, which may arrive damaged, or undecodable"""
    *paths, text = words
    source = stage.folder / "source"
    for path in paths:
        (source / path[1:]).parent.mkdir(parents=True, exist_ok=True)
        (source / path[1:]).write_text(text * options.get("times", 1))
    stage.log.next_package = options.pop("arrives", "")
    asked, name = _request(options)
    package = await stage.board.publisher(name).publish(source, paths, deep=False, **asked)
    return [f"{package.kind} {' '.join(paths)} of {name} is at offset {package.offset}"]


async def delete(stage: Stage, words: list[str], options: Options) -> list[str]:
    """delete PATH: publish its removal"""
    asked, name = _request(options)
    package = await stage.board.publisher(name).delete(words, **asked)
    return [f"{package.kind} {words[0]} of {name} is at offset {package.offset}"]


def _request(options: Options) -> tuple[Options, str]:
    asked = {}
    if "id" in options:
        asked["request_id"] = str(options["id"])
    if "to" in options:
        asked["recipients"] = [options["to"]]
    return asked, options.get("by", "main")


async def start(stage: Stage, words: list[str], options: Options) -> list[str]:
    """start NAME [SETTING=VALUE ...] [as=KEY]: run a subscriber; KEY tells two of one name apart"""
    name = words[0]
    key = options.pop("as", name)
    if "follows" in options:
        options["follows"] = tuple(options["follows"].split(","))
    await stage.start_edge(key, name, retry=Backoff(first_s=1.0, max_s=60.0), **options)
    return []


async def stop(stage: Stage, words: list[str], options: Options) -> list[str]:
    """stop NAME: stop it in order"""
    subscriber = stage.edges[words[0]].subscriber
    assert subscriber is not None
    await subscriber.stop()
    return []


async def crash(stage: Stage, words: list[str], options: Options) -> list[str]:
    """crash NAME: kill it"""
    await stage.crash(stage.edges[words[0]])
    return []


async def cut(stage: Stage, words: list[str], options: Options) -> list[str]:
    """cut NAME: cut it off from the log"""
    return _line(stage, words[0], cut=True)


async def mend(stage: Stage, words: list[str], options: Options) -> list[str]:
    """mend NAME: reconnect it to the log"""
    return _line(stage, words[0], cut=False)


def _line(stage: Stage, key: str, *, cut: bool) -> list[str]:
    line = stage.edges[key].line
    assert line is not None
    line.cut = cut
    return []


async def reject(stage: Stage, words: list[str], options: Options) -> list[str]:
    """reject NAME PATH: have its before_import hook reject this path"""
    stage.edges[words[0]].rejects.add(words[1])
    return []


async def accept(stage: Stage, words: list[str], options: Options) -> list[str]:
    """accept NAME PATH: no longer reject it"""
    stage.edges[words[0]].rejects.discard(words[1])
    return []


async def hook(stage: Stage, words: list[str], options: Options) -> list[str]:
    """hook NAME [fails=WHY]: set what its after_import hook does, and show how often it was called"""
    edge = stage.edges[words[0]]
    edge.hook = str(options.get("fails", ""))
    return [f"called {edge.calls} times so far"]


async def restart_publishers(stage: Stage, words: list[str], options: Options) -> list[str]:
    """restart-publishers: restart all of them, with an empty memory"""
    await stage.stop_publishers()
    return []


async def wait(stage: Stage, words: list[str], options: Options) -> list[str]:
    """wait TIME: let virtual time pass: 5s, 2min, 1h"""
    await asyncio.sleep(value(words[0]))
    return []


async def status(stage: Stage, words: list[str], options: Options) -> list[str]:
    """status [NAME]: the subscribers, and the commands that help"""
    rows = (await stage.board.status()).subscribers
    return [line for row in rows if row.name in (words or [row.name]) for line in shown(row)]


def shown(row: SubscriberStatus) -> list[str]:
    state = row.state if row.liveness == "live" else f"{row.state} ({row.liveness})"
    parts = [f"{row.name}: {state}, at {row.offset}, {row.lag_packages} behind"]
    parts += [f"{number} {what}" for number, what in ((row.cleared, "cleared"), (row.skipped, "skipped")) if number]
    parts += [f"{row.superseded} superseded"] if row.superseded else []
    lines = [", ".join(parts)]
    for trouble in row.troubles:
        lines += [f"  {said(trouble.what)}", *(f"    {each.command}" for each in trouble.remedies)]
    return lines


def said(text: str) -> str:
    """Without what differs from host to host."""
    text = re.sub(r"process \d+ on [\w.-]+", "process 4711 on host", text)
    text = re.sub(r"[0-9-]{10} [0-9:]{8} UTC", "<time>", text)
    return re.sub(r"\b[0-9a-f]{32,64}\b", "<id>", text)


async def queue(stage: Stage, words: list[str], options: Options) -> list[str]:
    """queue NAME [publisher=NAME]: the packages that it has not imported"""
    packages = (await stage.board.queue(words[0], options.get("publisher", ""))).items
    shown = [f"{each.offset} {each.kind} {' '.join(each.paths)} of {each.publisher}" for each in packages]
    problems = [f"{each.offset} {said(each.problem)}" if each.problem else "" for each in packages]
    return [problem or line for problem, line in zip(problems, shown, strict=True)] or ["empty"]


async def errors(stage: Stage, words: list[str], options: Options) -> list[str]:
    """errors [NAME]: packages that were given up or quarantined"""
    view = await stage.board.errors(words[0] if words else "")
    return [
        f"{each.subscriber} {each.offset} {each.status} after {each.attempts}: {said(each.reason)}"
        for each in view.items
    ] or ["none"]


async def content(stage: Stage, words: list[str], options: Options) -> list[str]:
    """content NAME: the files in its repository"""
    tree = sorted(stage.edges[words[0]].store.tree.items())
    files = [(path, node.content.decode()) for path, node in tree if node.kind is EntryKind.FILE]
    return [f"{path} {text if len(text) < 40 else f'({len(text)} bytes)'}" for path, text in files] or ["nothing"]


async def order(stage: Stage, give: Callable[..., Awaitable[CommandResult]], *args: Any, **options: Any) -> list[str]:
    result = await give(*args, author="ann", **options)
    if result.accepted:
        return [told(result)]
    refusal = f"refused by {result.subscriber}: {result.reason}"
    return [said(refusal if result.accepted is False else result.reason)]


async def clear(stage: Stage, words: list[str], options: Options) -> list[str]:
    """clear NAME [publisher=NAME] [first=NUMBER] [up_to=OFFSET]: command: remove these from the queue"""
    return await order(stage, stage.board.clear, words[0], **options)


async def retry(stage: Stage, words: list[str], options: Options) -> list[str]:
    """retry NAME [OFFSET] [without_golden=true]: command: retry now"""
    return await order(stage, stage.board.retry, words[0], *map(int, words[1:]), **options)


async def skip(stage: Stage, words: list[str], options: Options) -> list[str]:
    """skip NAME [OFFSET]: command: skip one package"""
    return await order(stage, stage.board.skip, words[0], *map(int, words[1:]), **options)


async def pause(stage: Stage, words: list[str], options: Options) -> list[str]:
    """pause NAME: command: import nothing"""
    return await order(stage, stage.board.pause, words[0], **options)


async def resume(stage: Stage, words: list[str], options: Options) -> list[str]:
    """resume NAME: command: resume"""
    return await order(stage, stage.board.resume, words[0], **options)


async def throttle(stage: Stage, words: list[str], options: Options) -> list[str]:
    """throttle NAME PACKAGES_A_MINUTE: command: limit its imports"""
    return await order(stage, stage.board.throttle, words[0], int(words[1]), **options)


async def forget(stage: Stage, words: list[str], options: Options) -> list[str]:
    """forget NAME: take it out of every view"""
    await stage.board.forget_subscriber(words[0], author="ann")
    return []


async def trim(stage: Stage, words: list[str], options: Options) -> list[str]:
    """trim OFFSET: remove packages below it from the log"""
    topic = stage.board.settings.topics.package
    first = await stage.log.trim(topic, Retention(below_offset=int(words[0])))
    return [f"the oldest package is now {first}"]


async def replace_log(stage: Stage, words: list[str], options: Options) -> list[str]:
    """replace-log: replace the log by an empty one"""
    await stage.log.replace_by_an_empty_one()
    return []


async def lose_blobs(stage: Stage, words: list[str], options: Options) -> list[str]:
    """lose-blobs: empty the blob store"""
    stage.lost_blobs, stage.blobs._blobs = stage.blobs._blobs, {}
    return [f"{len(stage.lost_blobs)} lost"]


async def restore_blobs(stage: Stage, words: list[str], options: Options) -> list[str]:
    """restore-blobs: put back what was lost"""
    stage.blobs._blobs |= stage.lost_blobs
    return []


VERBS: dict[str, Callable[[Stage, list[str], Options], Awaitable[list[str]]]] = {
    verb.__name__.replace("_", "-"): verb
    for verb in (
        publish, delete, start, stop, crash, cut, mend, reject, accept, hook, restart_publishers, wait, status, queue,
        errors, content, clear, retry, skip, pause, resume, throttle, forget, trim, replace_log, lose_blobs,
        restore_blobs,
    )
}  # fmt: skip
