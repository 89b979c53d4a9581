"""The marks of listeners: in any order of writers, summaries and trims, none goes back behind what was handled."""

from hypothesis import given
from hypothesis import strategies as st

from callboard.backends.log import Bounds
from callboard.board.events.marks import beginning, later
from callboard.messages.events.event_messages import ListenerMark

NAMES = ("a", "b")
FIRST, SECOND = "first log", "second log"


def folded(records: list[tuple[ListenerMark, ...]]) -> dict[str, ListenerMark]:
    known: dict[str, ListenerMark] = {}
    for marks in records:
        for mark in marks:
            known[mark.name] = later(known.get(mark.name), mark)
    return known


@given(
    st.lists(
        st.tuples(st.sampled_from(NAMES), st.integers(0, 1), st.integers(1, 5), st.booleans()), min_size=1, max_size=40
    )
)
def test_all_below_the_mark_of_a_name_was_handled_under_this_name(
    steps: list[tuple[str, int, int, bool]],
) -> None:
    """Two processes with each name handle events and write marks; sometimes one of them ends and starts again. After
    each step, a reader of what is left after a summary and a trim knows the same as a reader of all.
    """
    records: list[tuple[ListenerMark, ...]] = []
    kept: list[tuple[ListenerMark, ...]] = []
    handled: dict[str, set[int]] = {name: set() for name in NAMES}
    at: dict[tuple[str, int], int] = {}
    for name, process, many, restarts in steps:
        known = folded(kept).get(name)
        if restarts or (name, process) not in at:
            at[name, process] = known.next if known else 0
        handled[name] |= set(range(at[name, process], at[name, process] + many))
        at[name, process] += many
        mark = ListenerMark(name=name, log_id=FIRST, next=at[name, process])
        records.append((mark,))
        kept.append((mark,))
        if many == 5:  # a summary by a reader that had not read the last record
            kept = [*kept[-1:], tuple(folded(kept[:-1]).values())]
        assert folded(kept) == folded(records)
        for each, mark in folded(kept).items():
            assert set(range(mark.next)) <= handled[each]


@given(st.integers(0, 9), st.integers(0, 9), st.integers(0, 9), st.sampled_from([FIRST, SECOND]))
def test_a_listener_goes_on_inside_the_log_and_passes_nothing_over_without_a_word(
    place: int, first: int, more: int, log_id: str
) -> None:
    bounds = Bounds(first, first + more)
    start, problem = beginning(ListenerMark(name="a", log_id=FIRST, next=place), log_id, bounds)

    assert bounds.first <= start <= bounds.end
    if not problem:
        assert (start, log_id) == (place, FIRST)
    else:
        assert start == bounds.first


def test_a_removed_listener_is_new_again() -> None:
    mark = ListenerMark(name="a", log_id=FIRST, next=7)
    removed = ListenerMark(name="a", removed=True)
    again = ListenerMark(name="a", log_id=FIRST, next=3)

    assert folded([(mark,), (removed,)])["a"].removed
    assert folded([(mark,), (removed,), (again,)])["a"] == again
