"""The fence: what a resource admits, by the tokens it has seen."""

from typing import Any

import pytest

from callboard.backends.fence import Fence, Token
from callboard.errors import LeaderReplaced, LogReplaced, RequestRefused

FIVE, SEVEN = Token("log", 5), Token("log", 7)


@pytest.mark.parametrize(("highest", "token", "new"), [
    (None, None, False),
    (None, FIVE, True),
    (FIVE, FIVE, False),
    (FIVE, SEVEN, True),
])  # fmt: skip
def test_the_newest_leader_is_admitted_and_its_first_write_raises_the_token(
    highest: Token | None, token: Token | None, new: bool
) -> None:
    fence = Fence(highest)
    assert fence.admit(token) is new
    assert fence.highest == token
    assert fence.admit(token) is False


@pytest.mark.parametrize(("token", "error", "says"), [
    (FIVE, LeaderReplaced, "epoch 7 has written here, and this write is of epoch 5; only the leader may write"),
    (None, LeaderReplaced, "this write has no token"),
    (Token("other", 5), LogReplaced, "reset the resource"),
    (Token("other", 9), LogReplaced, "reset the resource"),
])  # fmt: skip
def test_a_refused_write_leaves_the_highest_token_unchanged(
    token: Token | None, error: type[Exception], says: str
) -> None:
    fence = Fence(SEVEN)
    with pytest.raises(error, match=says):
        fence.admit(token)
    assert fence.highest == SEVEN
    assert fence.admit(SEVEN) is False


@pytest.mark.parametrize("token", [5, "log", ("log", 5)])
def test_what_is_no_token_is_refused(token: Any) -> None:
    for use in (Fence, Fence().admit, Fence(FIVE).admit):
        with pytest.raises(RequestRefused, match="is no Token; take that of leader_lease"):
            use(token)


@pytest.mark.parametrize(("log_id", "epoch"), [("log", "5"), ("log", 5.0), ("log", True), ("log", None), (b"log", 5)])
def test_a_token_that_could_not_be_compared_is_refused(log_id: Any, epoch: Any) -> None:
    with pytest.raises(RequestRefused, match="an epoch, a whole number, not"):
        Token(log_id, epoch)
