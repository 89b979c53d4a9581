"""docs/behaviours.md matches the markers of the tests, and is complete."""

from tests.behaviours import PAGE, PARTS, RED, Behaviour, behaviours, marks, page, states


def test_every_behaviour_has_a_test_or_a_reason() -> None:
    tests = marks()
    assert [row.name for row in behaviours() if row.name not in tests and not row.reason] == []


def test_no_behaviour_has_both_a_test_and_a_reason_to_have_none() -> None:
    tests = marks()
    assert [row.name for row in behaviours() if row.name in tests and row.reason] == []


def test_every_marker_names_a_behaviour() -> None:
    known = {row.name for row in behaviours()}
    assert {name: tests for name, tests in marks().items() if name not in known} == {}


def test_the_numbering_has_no_gaps() -> None:
    for letter in PARTS:
        numbers = [int(row.name[1:]) for row in behaviours() if row.name[0] == letter]
        assert numbers == list(range(1, len(numbers) + 1))


def test_every_improvement_on_the_original_is_documented() -> None:
    def both(row: Behaviour) -> bool:
        return bool(row.was and row.text)

    assert all(both(row) for row in behaviours() if row.name.startswith("W"))


def test_the_page_matches_the_markers_and_nothing_on_it_is_red() -> None:
    text = PAGE.read_text(encoding="utf-8")
    assert text == page(states(text)), "run make behaviours"
    assert RED not in states(text).values()
