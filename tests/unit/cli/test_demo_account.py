import pytest

from callboard.cli.demo.account import Account
from callboard.messages.distribution.topic_messages import PackageStatusMessage, Status

PACKAGES = {0: frozenset({"/a/b"}), 1: frozenset({"/a"}), 2: frozenset({"/c"})}


def account(*said: tuple[int, Status], left_out_by_command: int = 0) -> Account:
    """The account of a subscriber with these statuses, in order."""
    made = Account(left_out_by_command=left_out_by_command)
    for sequence, (offset, status) in enumerate(said, 1):
        made.add(
            PackageStatusMessage(
                subscriber_instance="i",
                subscriber="edge-1",
                publisher="site",
                offset=offset,
                status=status,
                sequence=sequence,
            )
        )
    return made


def imported(*offsets: int) -> tuple[tuple[int, Status], ...]:
    return tuple((offset, Status.IMPORTED) for offset in offsets)


def test_no_package_is_lost_if_all_are_imported() -> None:
    assert account(*imported(0, 1, 2)).lost(PACKAGES) == 0


def test_a_package_without_any_status_is_lost() -> None:
    assert account(*imported(0, 1)).lost(PACKAGES) == 1


def test_a_package_replaced_by_a_later_one_on_its_paths_is_not_lost() -> None:
    assert account((0, Status.SUPERSEDED), *imported(1, 2)).lost(PACKAGES) == 0


def test_a_package_reported_as_replaced_is_lost_if_no_later_import_is_on_its_paths() -> None:
    assert account(*imported(0, 1), (2, Status.SUPERSEDED)).lost(PACKAGES) == 1
    assert account((0, Status.SUPERSEDED), *imported(2)).lost({0: PACKAGES[0], 2: PACKAGES[2]}) == 1


@pytest.mark.parametrize("status", [Status.HELD, Status.REMOVED_FAILED])
def test_a_quarantined_package_is_lost_until_it_is_imported(status: Status) -> None:
    assert account((0, status), *imported(1, 2)).lost(PACKAGES) == 1
    assert account((0, status), *imported(1, 2, 0)).lost(PACKAGES) == 0


@pytest.mark.parametrize("status", [Status.SKIPPED, Status.REMOVED])
def test_a_skipped_package_is_lost_unless_a_command_skipped_it(status: Status) -> None:
    assert account((0, status), *imported(1, 2)).lost(PACKAGES) == 1
    assert account((0, status), *imported(1, 2), left_out_by_command=1).lost(PACKAGES) == 0


def test_a_failed_hook_does_not_undo_the_import() -> None:
    assert account(*imported(0, 1, 2), (2, Status.HOOK_FAILED)).lost(PACKAGES) == 0
