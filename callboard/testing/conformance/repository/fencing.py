"""The fence: a leader writes with its token, and the repository refuses former leaders."""

from collections.abc import Awaitable, Callable, Iterator

from callboard.backends.fence import Token
from callboard.backends.repository import Attempting, Operation, Repository
from callboard.errors import LeaderReplaced, LogReplaced
from callboard.testing.conformance.repository.harness import RepositoryHarness, file, opened, paths
from callboard.testing.conformance.verdict import raises

_FIVE, _SEVEN, _OTHER = Token("log", 5), Token("log", 7), Token("another log", 9)

Write = Callable[[Token | None], Awaitable[None]]


def _writes(repository: Repository) -> list[Write]:
    """Every way to write, each leaving the ledger ``written``."""
    new = [file("/new")]
    writes: list[Write] = [
        lambda token: repository.apply(new, b"written", token),
        lambda token: repository.apply((), b"written", token),
        lambda token: repository.save(b"written", token=token),
        lambda token: repository.save(b"written", durable=False, token=token),
    ]
    if isinstance(repository, Attempting):
        both = repository
        writes.append(lambda token: both.attempt(b"before", new, b"written", token))
    return writes


async def check_the_highest_token_is_kept_over_a_restart(harness: RepositoryHarness) -> None:
    """Whichever way it was written; the same leader and later ones can write."""
    for number in range(len(_writes(harness.make()))):
        token = Token("log", 10 * number + 5)
        async with opened(harness) as repository:
            await _writes(repository)[number](token)
        async with opened(harness) as repository:
            with raises(LeaderReplaced):
                await repository.save(b"", token=Token("log", token.leader_epoch - 1))
            await repository.save(b"same", token=token)


async def check_a_former_leader_changes_nothing(harness: RepositoryHarness) -> None:
    """Nor does a writer without a token, once there is one, or a leader by another log."""
    async with opened(harness) as repository:
        await repository.apply([file("/old")], b"old", _SEVEN)
        for token, error in ((_FIVE, LeaderReplaced), (None, LeaderReplaced), (_OTHER, LogReplaced)):
            for write in _writes(repository):
                with raises(error, by=token):
                    await write(token)
                assert await repository.open() == b"old"
                assert paths(repository) == ["/old"]
        await repository.save(b"new", token=_SEVEN)


async def check_writes_without_a_token_need_none_until_there_is_one(harness: RepositoryHarness) -> None:
    """A repository that no leader writes to is as before."""
    async with opened(harness) as repository:
        for write in _writes(repository):
            await write(None)
        await repository.save(b"first", durable=False, token=_FIVE)
        with raises(LeaderReplaced):
            await repository.save(b"without")
        assert await repository.open() == b"first"


async def check_a_write_that_fails_does_not_raise_the_token(harness: RepositoryHarness) -> None:
    """Token, content and ledger change together or not at all."""

    def operations() -> Iterator[Operation]:
        yield file("/new")
        raise ZeroDivisionError

    async with opened(harness) as repository:
        await repository.save(b"old", token=_FIVE)
        with raises(ZeroDivisionError):
            await repository.apply(operations(), b"new", _SEVEN)
        await repository.save(b"still", token=_FIVE)
    async with opened(harness) as repository:
        await repository.apply([], b"still there", _FIVE)


async def check_a_reset_replaces_the_token(harness: RepositoryHarness) -> None:
    """By a lower one, one of another log, or none; also over a restart."""
    async with opened(harness) as repository:
        await repository.save(b"old", token=_SEVEN)
        await repository.save(b"lower", token=_FIVE, reset=True)
        await repository.save(b"other", token=_OTHER, reset=True)
        with raises(LogReplaced):
            await repository.save(b"by the former log", token=_SEVEN)
    async with opened(harness) as repository:
        assert await repository.open() == b"other"
        await repository.save(b"none", reset=True)
    async with opened(harness) as repository:
        await repository.apply([], b"without")
        await repository.apply([], b"first", _FIVE)
