from callboard.web.signin.attempts import FORGET_S, FREE, KEYS_MAX, WAIT_MAX_S, Attempts


class Clock:
    now = 1000.0

    def __call__(self) -> float:
        return self.now


def failing(attempts: Attempts, clock: Clock, times: int, name: str = "ann", address: str = "a") -> list[float]:
    """How long each attempt had to wait first."""
    waits = []
    for _ in range(times):
        wait_s = attempts.begin(name, address)
        if wait_s:
            clock.now += wait_s
            assert attempts.begin(name, address) == 0
        waits.append(wait_s)
    return waits


def test_the_wait_doubles_up_to_a_minute():
    clock = Clock()
    waits = failing(Attempts(clock), clock, FREE + 8)
    assert waits == [0.0] * FREE + [1, 2, 4, 8, 16, 32, 60, 60]
    assert max(waits) == WAIT_MAX_S


def test_a_name_waits_from_every_address_and_an_address_under_every_name():
    clock = Clock()
    attempts = Attempts(clock)
    failing(attempts, clock, FREE)
    assert attempts.begin("ann", "b") > 0
    assert attempts.begin("bob", "a") > 0
    assert attempts.begin("bob", "b") == 0


def test_a_success_forgives_the_name_but_not_the_address_its_other_failures():
    clock = Clock()
    attempts = Attempts(clock)
    failing(attempts, clock, FREE - 1)
    failing(attempts, clock, 1, "eve")
    clock.now += attempts.begin("eve", "a")
    assert attempts.begin("eve", "a") == 0
    attempts.succeeded("eve", "a")  # one's own account is no way to go on guessing
    assert attempts.begin("bob", "a") > 0
    assert attempts.begin("eve", "b") == 0


def test_after_a_while_failures_are_forgotten():
    clock = Clock()
    attempts = Attempts(clock)
    failing(attempts, clock, FREE + 3)
    clock.now += FORGET_S
    assert failing(attempts, clock, FREE) == [0.0] * FREE


def test_memory_is_bounded():
    attempts = Attempts(Clock())
    for number in range(KEYS_MAX):
        attempts.begin(f"name {number}", f"address {number}")
    assert len(attempts._failed) == KEYS_MAX
