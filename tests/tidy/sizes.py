"""How large a file, a class, a function and a folder may be, and which of them are larger, for a reason."""

from collections import Counter
from pathlib import PurePosixPath

from tests.tidy.sources import Sources, classes, functions, length, modules, named

FILE_LINES_MAX = 500
MODULE_LINES_MAX = 300
CLASS_LINES_MAX = 250
FUNCTION_LINES_MAX = 60
FOLDER_FILES_MAX = 15

EXCUSED = {
    "callboard/config/model.py": "the settings, each with its sentence",
    "callboard/messages/distribution/topic_messages.py": "the messages of the topics, one list of records",
    "callboard/testing/conformance/planted/logs.py": "a list of bugs, of a few lines each",
    "callboard/testing/simulation/distribution/oracles/subscriber_oracle.py": "what must be true of a subscriber",
    "callboard/testing/simulation/distribution/oracles/subscriber_oracle.py:SubscriberOracle": "its class",
    "callboard/testing/simulation/distribution/stage.py": "what the plan's acts do to a fleet",
    "callboard/testing/simulation/distribution/stage.py:Stage": "what the plan's acts do to a fleet",
    "tests/pipeline/spark": "not put in order yet",
}
"""What is larger than it should be, and why. The list only gets shorter: divide what is new, and remove what fits."""


def nothing_is_too_large(sources: Sources) -> list[str]:
    large = too_large(sources)
    found = [f"{name} has {size}" for name, size in large.items() if name not in EXCUSED]
    return found + [f"{name} is small enough now: take it out of EXCUSED" for name in EXCUSED if name not in large]


def too_large(sources: Sources) -> dict[str, str]:
    """What is above a limit: ``folder``, ``path`` or ``path:name``, and by how much."""
    large = {}
    for path in named(sources, "callboard", "tests", "benchmarks"):
        lines, most = sources[path].count("\n"), MODULE_LINES_MAX if path.startswith("callboard/") else FILE_LINES_MAX
        if lines > most:
            large[path] = f"{lines} lines, {most} at most"
    for path, tree in modules(sources, "callboard"):
        for node in classes(tree):
            if length(node) > CLASS_LINES_MAX:
                large[f"{path}:{node.name}"] = f"{length(node)} lines, {CLASS_LINES_MAX} at most"
    for path, tree in modules(sources, "callboard", "tests"):
        for function in functions(tree):
            if length(function) > FUNCTION_LINES_MAX:
                large[f"{path}:{function.name}"] = f"{length(function)} lines, {FUNCTION_LINES_MAX} at most"
    return large | crowded(sources)


def crowded(sources: Sources) -> dict[str, str]:
    paths = map(PurePosixPath, named(sources, "callboard", "tests"))
    files = Counter(path.parent.as_posix() for path in paths if path.name != "__init__.py")
    return {
        folder: f"{count} files, {FOLDER_FILES_MAX} at most; divide it into rooms"
        for folder, count in files.items()
        if count > FOLDER_FILES_MAX
    }
