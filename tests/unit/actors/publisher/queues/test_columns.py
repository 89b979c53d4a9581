import sys
from typing import NamedTuple

from hypothesis import given
from hypothesis import strategies as st

from callboard.actors.publisher.queues.columns import Columns, View

ENTRY_BYTES_MAX = 32
MILLION = 1_000_000


class Entry(NamedTuple):
    offset: int
    time_ns: int
    length: int


def columns(entries: list[Entry]) -> Columns:
    made = Columns()
    for entry in entries:
        made.append(*entry)
    return made


def shown(view: View) -> tuple[int, int, int, int, list[int]]:
    return view.size, view.length, view.oldest_ns, view.newest, list(view.page(-1, MILLION))


def expected(entries: list[Entry]) -> tuple[int, int, int, int, list[int]]:
    return (
        len(entries),
        sum(entry.length for entry in entries),
        entries[0].time_ns if entries else 0,
        entries[-1].offset if entries else -1,
        [entry.offset for entry in entries],
    )


def test_empty_columns_give_an_empty_view() -> None:
    assert shown(Columns().view(-1)) == (0, 0, 0, -1, [])


def test_a_view_holds_the_entries_after_the_offset() -> None:
    made = columns([Entry(3, 30, 1), Entry(5, 50, 10), Entry(9, 90, 100)])
    assert shown(made.view(3)) == (2, 110, 50, 9, [5, 9])
    assert shown(made.view(4)) == (2, 110, 50, 9, [5, 9])
    assert shown(made.view(9)) == (0, 0, 0, -1, [])


def test_a_page_starts_after_an_offset_and_ends_at_its_limit() -> None:
    view = columns([Entry(offset, 0, 0) for offset in range(0, 100, 10)]).view(25)
    assert list(view.page(49, 2)) == [50, 60]
    assert list(view.page(-1, 2)) == [30, 40]
    assert view.through(50) == 3


steps = st.lists(
    st.one_of(
        st.tuples(st.just("append"), st.integers(1, 4), st.integers(0, 50)),
        st.tuples(st.just("prepend"), st.integers(1, 4), st.integers(0, 50)),
        st.tuples(st.just("drop"), st.integers(-1, 60), st.just(0)),
    ),
    max_size=40,
)


@given(steps=steps, after=st.integers(400, 650))
def test_columns_answer_like_a_plain_list(steps: list[tuple[str, int, int]], after: int) -> None:
    made, model = Columns(), []
    low, high = 500, 500
    for step, gap, length in steps:
        if step == "append":
            entry = Entry(high + gap, high * 10, length)
            high = entry.offset
            made.append(*entry)
            model.append(entry)
        elif step == "prepend":
            block = [Entry(low - 2 * gap, low, length), Entry(low - gap, low + 1, length + 1)]
            low = block[0].offset
            made.prepend(columns(block))
            model = block + model
        else:
            made.drop_below(low + gap)
            model = [entry for entry in model if entry.offset >= low + gap]
    assert shown(made.view(after)) == expected([entry for entry in model if entry.offset > after])


def test_prepending_nothing_changes_nothing() -> None:
    made = columns([Entry(1, 1, 1)])
    made.prepend(Columns())
    assert shown(made.view(-1)) == (1, 1, 1, 1, [1])


def test_a_million_entries_take_at_most_32_bytes_each_with_slack() -> None:
    made = Columns()
    for offset in range(MILLION):
        made.append(offset, offset, 10)
    held = sum(sys.getsizeof(column) for column in (made.offsets, made.times, made.totals))
    assert held <= ENTRY_BYTES_MAX * MILLION
    assert abs(made.nbytes - held) < 1000
    made.drop_below(MILLION // 2)
    assert made.nbytes <= ENTRY_BYTES_MAX * MILLION // 2
