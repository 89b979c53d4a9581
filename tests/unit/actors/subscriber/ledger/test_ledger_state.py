"""Statuses in the ledger are sent only after they are on disk."""

from dataclasses import replace

from callboard.actors.subscriber.ledger import ledger_changes
from callboard.actors.subscriber.ledger.ledger_state import LedgerState, Write
from callboard.messages.distribution.ledger import GivenUp, Ledger
from callboard.messages.distribution.topic_messages import Status


def told(ledger: Ledger) -> Ledger:
    return ledger_changes.reported(ledger, GivenUp(offset=3, publisher="p", package_id="i"), Status.SKIPPED, "", 0, 1)


def test_a_status_found_in_the_repository_is_stored_again_before_it_is_sent() -> None:
    state, found = LedgerState(), told(Ledger(instance="i"))
    state.adopt(found, found)
    assert state.urgent
    assert not state.pending(above=0).statuses
    state.holds(state.save(durable=True).ledger)
    assert state.pending(above=0).statuses == found.outbox


def test_a_ledger_without_statuses_need_not_be_stored_again() -> None:
    state, found = LedgerState(), Ledger(instance="i")
    state.adopt(found, found)
    assert not state.urgent


def test_statuses_stored_by_a_failed_import_are_not_sent_before_they_are_stored_again() -> None:
    state, before = LedgerState(), Ledger(instance="i")
    state.adopt(before, before)
    state.holds(before)
    assert not list(state.follow([Write(told(before), urgent=True)]))
    assert state.learn(state.ledger)
    assert state.urgent
    assert not state.pending(above=0).statuses


def test_a_command_is_not_announced_before_its_answer_is_stored() -> None:
    """Once it is announced, the command may be removed from its topic."""
    state, before = LedgerState(), Ledger(instance="i", command_log_id="c", command_offset=3)
    state.adopt(before, before)
    assert state.commands_up_to == 3
    list(state.follow([Write(replace(before, command_offset=5), urgent=True)]))
    assert state.commands_up_to == 3
    state.holds(state.save(durable=True).ledger)
    assert state.commands_up_to == 5
    list(state.follow([Write(replace(before, command_log_id="another", command_offset=1), urgent=True)]))
    assert state.commands_up_to == -1
