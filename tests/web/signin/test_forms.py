import pytest

from callboard.errors import RequestRefused
from callboard.web.signin.forms import SPENT_MAX, VALID_S, Forms
from callboard.web.user import User

ANN = User("ann", "operator", "s1")
CLEAR = "clear queue/a"


class Clock:
    now = 1_000_000.0

    def __call__(self) -> float:
        return self.now


def refusal(forms: Forms, token: str, user: User = ANN, what: str = CLEAR) -> tuple[str, str]:
    with pytest.raises(RequestRefused) as caught:
        forms.spend(token, user, what)
    return caught.value.code, str(caught.value)


def test_a_form_is_taken_once():
    forms = Forms()
    token = forms.token(ANN, CLEAR)
    forms.spend(token, ANN, CLEAR)
    assert refusal(forms, token) == ("gone", "this form was sent already; look whether it took effect")
    forms.spend(forms.token(ANN, CLEAR), ANN, CLEAR)


@pytest.mark.parametrize(
    ("user", "what"),
    [(User("bob", "operator", "s1"), CLEAR), (User("ann", "operator", "s2"), CLEAR), (ANN, "clear queue/b"),
     (User("ann\",\"s1", "operator", ""), CLEAR)],
)  # fmt: skip
def test_a_form_of_another_user_session_or_action_is_refused_and_stays_good_for_its_own(user, what):
    forms = Forms()
    token = forms.token(ANN, CLEAR)
    assert refusal(forms, token, user, what)[0] == "unconfirmed"
    forms.spend(token, ANN, CLEAR)


def test_a_form_expires():
    clock = Clock()
    forms = Forms(clock=clock)
    last, late = forms.token(ANN, CLEAR), forms.token(ANN, CLEAR)
    clock.now += VALID_S - 1
    forms.spend(last, ANN, CLEAR)
    clock.now += 1
    assert refusal(forms, late)[0] == "gone"
    assert refusal(forms, last)[0] == "gone"


@pytest.mark.parametrize(
    "change",
    [lambda token: "", lambda token: ".", lambda token: token.upper(), lambda token: token[:-1],
     lambda token: token + "0", lambda token: f"9{token}", lambda token: "." * 1_000_000,
     lambda token: token + " " * 1_000_000, lambda token: token.replace(".", "\u2024"),
     lambda token: "\ud800" + token, lambda token: token + "\udcff"],
)  # fmt: skip
def test_an_altered_form_is_refused(change):
    forms = Forms()
    assert refusal(forms, change(forms.token(ANN, CLEAR)))[0] == "unconfirmed"


def test_a_token_with_more_behind_its_signature_counts_as_the_same_one():
    forms = Forms()
    token = forms.token(ANN, CLEAR)
    forms.spend(token, ANN, CLEAR)
    assert refusal(forms, token + ".more")[0] == "gone"


def test_another_process_takes_a_form_only_with_the_same_secret():
    token = Forms(b"s" * 32).token(ANN, CLEAR)
    Forms(b"s" * 32).spend(token, ANN, CLEAR)
    assert refusal(Forms(), token)[0] == "unconfirmed"


def test_memory_for_spent_forms_is_bounded_and_comes_back():
    clock = Clock()
    forms = Forms(clock=clock)
    forms._spent = {str(number): int(clock.now) + VALID_S for number in range(SPENT_MAX)}
    token = forms.token(ANN, CLEAR)
    assert refusal(forms, token)[0] == "busy"
    clock.now += VALID_S
    forms.spend(forms.token(ANN, CLEAR), ANN, CLEAR)
    assert len(forms._spent) == 1
