"""Which instance holds a name after which claims, and the clock that measures a holder's silence."""

from dataclasses import replace

import pytest

from callboard.actors.core.lease import Claim, Holder, LeaseClock


def claim(
    offset: int, who: str, over: int = -1, term: int = -1, duration_s: float = 30, *, leaves: bool = False
) -> Claim:
    return Claim(
        speaker=(who, ""), offset=offset, time_ns=0, duration_s=duration_s, takes_over=over, term=term, leaves=leaves
    )


def goodbye(offset: int, who: str, term: int = -1) -> Claim:
    return claim(offset, who, term=term, leaves=True)


def older_version(offset: int, who: str, at_s: float) -> Claim:
    return replace(claim(offset, who), time_ns=int(at_s * 1e9), by_time=True)


def held_by(holder: Holder[Claim]) -> tuple[str, float]:
    return ("nobody", 0) if holder.claim is None else (holder.claim.speaker[0], holder.claim.duration_s)


@pytest.mark.parametrize(
    ("claims", "who"),
    [
        pytest.param([claim(1, "a")], "a", id="a free name goes to the first"),
        pytest.param([claim(1, "a"), claim(2, "b"), claim(3, "b")], "a", id="a held name stays"),
        pytest.param([claim(1, "a"), claim(2, "b", over=1)], "b", id="a watcher takes over"),
        pytest.param([claim(1, "a"), claim(2, "a"), claim(3, "b", over=1)], "a", id="not after the holder spoke"),
        pytest.param([claim(1, "a"), claim(2, "b", over=1), claim(3, "c", over=1)], "b", id="the first of two wins"),
        pytest.param([claim(1, "a"), claim(2, "b", over=1), claim(3, "a", term=1)], "b", id="the former one is late"),
        pytest.param([claim(1, "a"), goodbye(2, "a", 1)], "nobody", id="one that leaves frees the name"),
        pytest.param([claim(1, "a"), goodbye(2, "a", 1), claim(3, "b")], "b", id="the next one gets it"),
        pytest.param([claim(1, "a"), claim(2, "b"), goodbye(3, "b")], "a", id="one that was refused frees nothing"),
        pytest.param([claim(1, "a"), claim(2, "a"), goodbye(3, "a", 1)], "a", id="nor one from before a restart"),
        pytest.param([claim(1, "a"), claim(2, "a"), claim(3, "a", term=2), goodbye(4, "a", 1)], "a", id="in any term"),
        pytest.param([claim(1, "a", duration_s=120), claim(2, "b", over=1)], "b", id="however long the lease was"),
        pytest.param([claim(1, "a"), older_version(2, "b", 31)], "b", id="an older version goes by the time"),
        pytest.param([claim(1, "a"), older_version(2, "b", 30)], "a", id="an older version that is early gets nothing"),
    ],
)
def test_all_readers_of_the_same_claims_find_the_same_holder(claims: list[Claim], who: str) -> None:
    holder = Holder[Claim](first=1)
    for each in claims:
        holder.hear(each)
    assert held_by(holder)[0] == who
    assert holder.last is not None
    assert holder.last.leaves == (who == "nobody"), "a goodbye is still known"


@pytest.mark.parametrize("seconds", [(3, 120), (120, 3)])
def test_the_lease_in_force_is_that_of_the_holders_last_claim(seconds: tuple[float, float]) -> None:
    its_s, others_s = seconds
    holder = Holder[Claim](first=1)
    holder.hear(claim(1, "a", duration_s=its_s))
    holder.hear(claim(2, "b", duration_s=others_s))
    assert held_by(holder) == ("a", its_s)
    holder.hear(claim(3, "a", term=1, duration_s=its_s + 1))
    assert held_by(holder) == ("a", its_s + 1)
    holder.hear(claim(4, "b", over=3, duration_s=others_s))
    assert held_by(holder) == ("b", others_s)


@pytest.mark.parametrize(
    ("older", "claims", "who"),
    [
        pytest.param([], [claim(20, "b")], "b", id="any speaker may be the holder"),
        pytest.param([], [claim(20, "v"), claim(21, "a", term=5)], "a", id="a claim with a term holds the name"),
        pytest.param([], [claim(20, "a", term=5), claim(21, "v")], "a", id="and keeps the name"),
        pytest.param([], [claim(20, "a", term=5), claim(21, "b", term=9)], "b", id="the later one counts"),
        pytest.param([], [claim(20, "b", term=9), claim(21, "a", term=5)], "b", id="in either order"),
        pytest.param([claim(6, "a", term=5)], [claim(20, "v")], "a", id="a repeated old claim counts"),
        pytest.param([claim(6, "a", term=5), claim(7, "v")], [], "a", id="more than a refused one"),
        pytest.param([claim(7, "v"), claim(6, "a", term=5)], [], "a", id="in any order"),
        pytest.param([claim(7, "a", term=5), claim(6, "a", term=5)], [], "a", id="also after its own repeated claim"),
        pytest.param([claim(6, "a", term=5), claim(9, "b", over=6)], [], "b", id="a takeover from it counts"),
        pytest.param([claim(9, "b", over=6), claim(6, "a", term=5)], [], "b", id="in any order, too"),
        pytest.param([claim(6, "a", term=5)], [goodbye(20, "a", 5)], "nobody", id="it does not come back"),
        pytest.param([goodbye(8, "a", 5), claim(3, "b", term=2)], [], "nobody", id="nor its predecessor"),
        pytest.param([claim(6, "a", term=5)], [goodbye(20, "v")], "a", id="a refused one frees nothing"),
        pytest.param([goodbye(8, "a", 5)], [claim(20, "b")], "b", id="an old goodbye takes no name away"),
    ],
)
def test_the_holder_is_found_on_a_topic_without_its_beginning(
    older: list[Claim], claims: list[Claim], who: str
) -> None:
    holder = Holder[Claim](first=20)
    for each in claims:
        holder.hear(each)
    for each in older:
        holder.hear_older(each)
    assert held_by(holder)[0] == who


def test_an_older_claim_does_not_replace_a_later_one_as_the_last() -> None:
    holder = Holder[Claim](first=20)
    for each in (claim(5, "a"), claim(6, "a", term=5), claim(7, "a", term=5), claim(3, "a")):
        holder.hear_older(each)
    assert holder.last is not None
    assert holder.last.offset == 7


def test_a_holder_with_a_later_term_than_the_repeated_claim_is_believed() -> None:
    holder = Holder[Claim](first=16)
    holder.hear(claim(16, "b"))
    holder.hear_older(claim(4, "a", term=1))
    assert held_by(holder)[0] == "a"
    holder.hear(claim(23, "b", term=22))
    assert held_by(holder)[0] == "b"


@pytest.mark.parametrize(("read_to", "who"), [(20, "b"), (19, "a")])
def test_a_former_holder_is_too_late_although_only_its_old_claim_is_left(read_to: int, who: str) -> None:
    """Unless it may have spoken before the takeover: then the takeover was too late."""
    holder = Holder[Claim](first=20)
    holder.hear(claim(36, "b", over=17))
    holder.hear_older(claim(17, "a", term=8), read_to)
    holder.hear(claim(38, "a", term=8))
    assert held_by(holder)[0] == who


def test_after_a_gap_a_refused_instance_is_not_taken_for_the_holder() -> None:
    holder = Holder[Claim](first=1)
    holder.hear(claim(1, "a"))
    holder.lose(first=10)
    holder.hear(claim(12, "b"))
    holder.hear(claim(13, "a", term=1))
    assert held_by(holder)[0] == "a"


def test_an_instance_that_took_over_and_restarted_is_not_replaced_by_the_former_holder() -> None:
    holder = Holder[Claim](first=12)
    holder.hear(claim(36, "b", over=9))
    holder.hear(claim(37, "b"))
    holder.hear_older(claim(9, "a", term=2), read_to=38)
    holder.hear(claim(39, "a", term=2))
    assert held_by(holder)[0] == "b"


def test_after_a_gap_the_last_known_holder_is_a_rival_until_the_holder_is_known() -> None:
    holder = Holder[Claim](first=1)
    holder.hear(claim(1, "a"))
    holder.lose(first=10)
    holder.hear(claim(12, "b"))
    assert [who for who, _ in holder.rivals] == ["a"]
    holder.hear(claim(13, "b", term=12))
    assert not holder.rivals


@pytest.mark.parametrize("repeated", [True, False])
def test_a_restarted_instance_is_a_rival_of_one_that_claims_to_hold_the_name(repeated: bool) -> None:
    """The other has been away since before a takeover that is no longer on the topic."""
    holder, away = Holder[Claim](first=20), claim(18 if repeated else 31, "away", term=5)
    holder.hear(claim(30, "started again"))
    if repeated:
        holder.hear_older(away, read_to=25)
    else:
        holder.hear(away)
    assert held_by(holder)[0] == "away"
    assert [who for who, _ in holder.rivals] == ["started again"]
    holder.hear(claim(40, "started again", term=30))
    assert (held_by(holder)[0], holder.rivals) == ("started again", {})


def test_the_first_of_two_takeovers_counts_even_if_the_former_claim_is_repeated_after_both() -> None:
    holder = Holder[Claim](first=24)
    for each in (claim(24, "b", over=22), claim(25, "c"), claim(26, "d", over=22), goodbye(27, "c")):
        holder.hear(each)
    holder.hear_older(claim(22, "a", term=2), read_to=28)
    assert held_by(holder)[0] == "b"
    holder.hear(claim(29, "b", over=22, term=24))
    holder.hear(claim(30, "d"))
    assert held_by(holder)[0] == "b"


def test_a_takeover_does_not_count_after_an_earlier_one_that_is_gone_from_the_topic() -> None:
    holder = Holder[Claim](first=70)
    holder.hear_older(claim(61, "a", term=56), read_to=70)
    holder.hear_older(claim(63, "c", over=61), read_to=70)
    holder.hear(claim(72, "b", over=61, term=62))
    assert held_by(holder)[0] == "b"


def test_an_instance_that_takes_its_name_back_keeps_it_from_the_holder_in_between() -> None:
    holder = Holder[Claim](first=105)
    holder.hear_older(claim(89, "a", term=75), read_to=105)
    holder.hear(claim(107, "a", over=104))
    holder.hear_older(claim(104, "b", term=88), read_to=108)
    holder.hear(claim(109, "b", term=88))
    assert held_by(holder)[0] == "a"


def test_all_possible_holders_are_rivals_until_a_takeover_covers_them() -> None:
    holder = Holder[Claim](first=20)
    for offset, who in enumerate("abc", start=20):
        holder.hear(claim(offset, who))
    assert (held_by(holder)[0], [who for who, _ in holder.rivals]) == ("c", ["a", "b"])
    holder.hear(claim(30, "b"))
    holder.hear(claim(31, "d", over=22))
    assert (held_by(holder)[0], [who for who, _ in holder.rivals]) == ("d", ["a", "c", "b"])
    holder.hear(claim(32, "e", over=31))
    assert (held_by(holder)[0], holder.rivals) == ("e", {})


def test_a_goodbye_does_not_free_a_name_that_another_instance_may_hold() -> None:
    holder = Holder[Claim](first=20)
    for each in (claim(30, "started again"), claim(31, "away", term=5), goodbye(32, "away", 5), claim(33, "new")):
        holder.hear(each)
    assert [who for who, _ in holder.rivals] == ["started again"]


def test_of_two_claims_with_terms_the_later_term_counts() -> None:
    holder = Holder[Claim](first=1)
    for each in (claim(1, "a"), claim(2, "b"), claim(3, "b", term=2), claim(4, "a", term=1)):
        holder.hear(each)
    assert held_by(holder)[0] == "b", "it was decided on a topic with a gap"


def test_after_a_gap_any_instance_may_hold_the_name() -> None:
    holder = Holder[Claim](first=1)
    holder.hear(claim(1, "a"))
    holder.lose(first=50)
    assert held_by(holder)[0] == "a", "until another instance speaks"
    holder.hear(claim(60, "b", term=40))
    assert held_by(holder)[0] == "b"
    holder.hear(claim(61, "a", term=1))
    assert held_by(holder)[0] == "b"


@pytest.mark.parametrize(
    ("looks", "counted_s"),
    [
        pytest.param([(0, 15), (2, 15), (4, 15)], 4, id="time between looks counts"),
        pytest.param([(0, 15), (2, 15), (602, 15), (604, 15)], 19, id="of a suspension only the gap counts"),
        pytest.param([(0, 15), (2, 15), (60, 0), (62, 15)], 4, id="no time counts while the log does not answer"),
        pytest.param([(0, 15), (2, 15), (1, 15), (3, 15)], 4, id="no time runs backwards"),
        pytest.param([(500, 15)], 0, id="it begins at zero"),
    ],
)
def test_a_gap_between_two_looks_does_not_count_in_full(looks: list[tuple[float, float]], counted_s: float) -> None:
    clock = LeaseClock()
    for mono_s, gap_s in looks:
        clock.look(mono_s, gap_s)
    assert clock.now_s == counted_s
