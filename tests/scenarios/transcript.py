"""Stories of commands and what they answer, as text: read, played, and rewritten.

A line that begins with ``$`` is a command; the lines after it, up to an empty one or the next command, are its answer.
All other lines are prose.
"""

from collections.abc import Awaitable, Callable

PROMPT = "$ "

Play = Callable[[str], Awaitable[list[str]]]
"""Carries out a command; its answer."""


async def played(text: str, play: Play) -> str:
    """The text with every answer as it is now."""
    lines = list[str]()
    answering = False
    for line in text.splitlines():
        if line.startswith(PROMPT):
            answering = True
            lines += [line, *await play(line.removeprefix(PROMPT))]
        elif not line.strip():
            answering = False
            lines.append("")
        elif not answering:
            lines.append(line)
    return "\n".join(lines) + "\n"
