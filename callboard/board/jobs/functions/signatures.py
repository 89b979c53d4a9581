"""What the function of a job takes."""

import inspect
import sys
from collections.abc import Callable
from functools import partial
from inspect import Parameter
from typing import TYPE_CHECKING, Any, cast

from callboard.errors import ConfigError

if TYPE_CHECKING:  # slow to import, and only there if the service uses it
    from pydantic import BaseModel

BY_POSITION = (Parameter.POSITIONAL_ONLY, Parameter.POSITIONAL_OR_KEYWORD, Parameter.VAR_POSITIONAL)
AT_RUN_TIME = "its annotations must be there at run time, not only for type checkers"


def parameters(function: Callable[..., Any]) -> list[Parameter]:
    """The parameters that are given by position. Raises ``ConfigError`` if they cannot be known."""
    try:
        return [each for each in inspect.signature(function).parameters.values() if each.kind in BY_POSITION]
    except (NameError, ValueError) as error:
        raise ConfigError(f"the parameters of {function!r:.80} cannot be known: {error}; {AT_RUN_TIME}") from error


def reference(function: Callable[..., Any]) -> str:
    """Where another process imports the function, ``module:name``. Raises ``ConfigError`` if it cannot."""
    module, name = getattr(function, "__module__", None), getattr(function, "__qualname__", "")
    if inspect.iscoroutinefunction(function):
        why = "it is a coroutine, which runs on the event loop of its worker; define it with `def`"
    elif module == "__main__":
        why = "another process cannot import the script that runs; define it in a module, and import that here"
    elif not module or not name or "<" in name:
        why = "another process cannot import it; define it with `def` at the top of a module"
    else:
        return f"{module}:{name}"
    raise ConfigError(f"{function!r:.80} cannot run in a process of its own: {why}")


class ProtobufModel:
    """A class of protobuf messages, used as a pydantic model is."""

    def __init__(self, kind: Any) -> None:
        self._kind = kind

    def model_validate(self, payload: object) -> object:
        """The payload. Raises ``ValueError`` if it is no such message."""
        if not isinstance(payload, self._kind):
            raise ValueError(f"it is {payload!r:.80}, no {self._kind.__name__}")
        return payload

    def model_validate_json(self, payload: bytes) -> object:
        """The message that has these bytes, which are no JSON. Raises protobuf's ``DecodeError``."""
        return self._kind.FromString(payload)


def payload_model(function: Callable[..., Any]) -> "type[BaseModel] | ProtobufModel | None":
    """The pydantic model, or the class of protobuf messages, that annotates the first parameter, if one does. Raises
    ``ConfigError``.
    """
    first = next(iter(parameters(function)), None)
    if first is None or first.kind is Parameter.VAR_POSITIONAL:
        return None
    found = first.annotation
    if isinstance(found, str):
        module = sys.modules[inspect.unwrap(function.func if isinstance(function, partial) else function).__module__]
        try:
            found = eval(found, vars(module))  # noqa: S307 - the service's own annotation
        except NameError as error:
            raise ConfigError(f"the payload of {function!r:.80} is a {found}, but {error}; {AT_RUN_TIME}") from error
    if hasattr(found, "SerializeToString"):
        return ProtobufModel(found)
    return cast("type[BaseModel]", found) if hasattr(found, "model_validate_json") else None
