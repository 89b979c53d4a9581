"""A command to list the repository runs between two imports, at one position, and is answered with the list."""

from callboard.actors.subscriber.effects import ImportPackages, SurveyRepository
from callboard.content.survey import Survey
from callboard.errors import RequestRefused
from callboard.messages.distribution.topic_messages import VerifyCommand
from callboard.testing.drivers.subscriber_example import ImporterDriver, command, package

VERIFY = {"verify": VerifyCommand(paths=("/blog",))}


def test_nothing_is_imported_while_the_repository_is_listed_and_the_answer_has_its_position() -> None:
    it = ImporterDriver().arrive()
    it.order(command(5, **VERIFY), end=100)
    assert it.asked(SurveyRepository) == SurveyRepository(5, ("/blog",))
    it.read(package(10))
    assert not it.asks(ImportPackages)
    it.done(SurveyRepository, Survey("d" * 64, 7))
    it.save_all()
    it.sends_all()
    [result] = it.results().values()
    assert (result.accepted, result.reason) == (True, "listed 7 entries")
    assert (result.listing_ref, result.digest, result.offset) == ("d" * 64, "d" * 64, 9)
    assert it.asks(ImportPackages)


def test_a_verify_command_during_an_import_waits_for_its_end() -> None:
    it = ImporterDriver().arrive()
    it.read(package(10))
    it.order(command(5, **VERIFY), end=100)
    assert it.asks(ImportPackages)
    assert not it.asks(SurveyRepository)
    it.done(ImportPackages)
    assert it.asks(SurveyRepository)
    it.done(SurveyRepository, Survey("d" * 64, 7))
    it.save_all()
    it.sends_all()
    assert [result.offset for result in it.results().values()] == [10]


def test_a_failed_list_is_refused_with_the_reason_and_imports_continue() -> None:
    it = ImporterDriver().arrive()
    it.order(command(5, **VERIFY), end=100)
    it.fail(SurveyRepository, RequestRefused("/blog/pipe is neither file, folder nor link"))
    it.save_all()
    it.sends_all()
    [result] = it.results().values()
    assert not result.accepted
    assert "/blog/pipe is neither file" in result.reason
    it.read(package(10))
    assert it.asks(ImportPackages)
