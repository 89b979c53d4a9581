"""Jobs that a module defines, before there is a board."""

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any, Concatenate, Generic, ParamSpec, Protocol, TypeVar, Unpack, cast, overload

from callboard.board.jobs.functions.signatures import payload_model, reference
from callboard.board.jobs.job import Job
from callboard.board.jobs.new_job import NewJob, NewJobOptions
from callboard.door import jobs as door
from callboard.errors import ConfigError, RequestRefused

T = TypeVar("T")
P = ParamSpec("P")
R = TypeVar("R")


class Jobs(Protocol):
    """The jobs of a board."""

    async def add_all(self, jobs: Iterable[NewJob]) -> tuple[Job, ...]:
        """Add jobs, all or none."""


class Board(Protocol):
    """A ``Callboard``; by the little that is used here, as that knows this module."""

    @property
    def jobs(self) -> Jobs:
        """Its jobs."""


class DefinedJob(Generic[T, P, R]):
    """A job that a module defines; made by ``JobRegistry.job``. Calling it calls its function."""

    def __init__(self, topic: str, function: Callable[P, R], options: NewJobOptions, *, process: bool = False) -> None:
        self.topic, self.function, self.options = topic, function, options
        self.reference = reference(function) if process else ""
        """Where a process of its own imports the function; empty if it runs in that of its worker."""
        self._model = payload_model(function)

    def __call__(self, *args: P.args, **kwargs: P.kwargs) -> R:
        """Call the function here and now."""
        return self.function(*args, **kwargs)

    def new(self, payload: T | None = None, **options: Unpack[NewJobOptions]) -> NewJob:
        """A job for ``add_all``; the options replace those of the definition. Raises ``RequestRefused``."""
        if self._model is not None:
            try:
                self._model.model_validate(payload)
            except ValueError as error:
                raise RequestRefused(f"the payload does not fit {self.topic}: {error}") from error
        return NewJob(**door.new_job(topic=self.topic, payload=payload, **{**self.options, **options}))

    async def add(self, board: Board, payload: T | None = None, **options: Unpack[NewJobOptions]) -> Job:
        """Add a job; the options replace those of the definition. Raises as ``board.jobs.add``."""
        [job] = await board.jobs.add_all([self.new(payload, **options)])
        return job


class Definition(Protocol):
    """Makes a job of a function."""

    @overload
    def __call__(self, function: Callable[[], R], /) -> DefinedJob[None, [], R]: ...

    @overload
    def __call__(self, function: Callable[Concatenate[T, P], R], /) -> DefinedJob[T, Concatenate[T, P], R]: ...


class JobRegistry(Mapping[str, Callable[..., Any]]):
    """The jobs of a service: the functions by topic, as ``board.jobs.worker`` and ``callboard run worker`` take them.

        jobs = JobRegistry()

        @jobs.job("mail/send", retries=3)
        async def send(mail: Mail) -> None: ...

        await send.add(board, Mail(to="ann"))

    A worker runs the jobs of several with ``{**mail, **shop}``.
    """

    def __init__(self) -> None:
        self._functions: dict[str, Callable[..., Any]] = {}

    def job(self, topic: str, *, process: bool = False, **options: Unpack[NewJobOptions]) -> Definition:
        """Define a job by its function.

        The function is called with the payload and, if it takes a second argument, the ``RunningJob``. If a pydantic
        model annotates the first, it gets that model, and ``add`` refuses payloads that do not fit.

        Args:
            topic: of the job; with a pattern, such as ``mail/*``, it is only run, and added by other names.
            process: call the function in a process of its own, which is killed when it does not end. The function is
                no coroutine, and at the top of a module, which that process imports.
            **options: of each job that is added, see ``NewJob``.

        Raises:
            ConfigError: wrong options, the topic has a function already, or no process could import this one.
        """
        door.definition(topic=topic, process=process, **options)
        if topic in self._functions:
            raise ConfigError(f"the job {topic!r} is defined twice; give one of them another topic")

        def define(function: Callable[..., Any]) -> DefinedJob[Any, ..., Any]:
            if isinstance(function, DefinedJob):  # it has another topic, too
                function = function.function
            defined = DefinedJob[Any, ..., Any](topic, function, options, process=process)
            self._functions[topic] = defined
            return defined

        return cast("Definition", define)

    def __getitem__(self, topic: str) -> Callable[..., Any]:
        return self._functions[topic]

    def __iter__(self) -> Iterator[str]:
        return iter(self._functions)

    def __len__(self) -> int:
        return len(self._functions)
