from callboard.backends.logs.appended import Appended


def test_a_record_that_was_heard_of_is_known_to_be_there() -> None:
    appended = Appended()
    appended.hear(7)
    assert appended.has(7)
    assert not appended.has(8)


def test_the_end_is_known_until_something_is_heard() -> None:
    appended = Appended()
    appended.read_nothing(8, appended.news)
    assert appended.is_end(8)
    assert not appended.is_end(7)
    appended.hear(8)
    assert not appended.is_end(8)


def test_what_is_heard_during_a_read_makes_its_end_unknown() -> None:
    appended = Appended()
    before = appended.news
    appended.hear(8)
    appended.read_nothing(8, before)
    assert not appended.is_end(8)


def test_what_was_heard_before_is_no_news() -> None:
    appended = Appended()
    appended.hear(7)
    before = appended.news
    appended.hear(7)
    assert appended.news == before


def test_after_a_ring_nothing_is_known() -> None:
    appended = Appended()
    appended.hear(7)
    appended.read_nothing(8, appended.news)
    appended.ring()
    assert not appended.has(7)
    assert not appended.is_end(8)
