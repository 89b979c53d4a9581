"""Two actors that send balls to each other, for actor_mailbox.py; processes of their own import them from here."""

from collections.abc import Iterable
from random import Random

from callboard.actors import (
    ActorSpec,
    AgentSpec,
    Effect,
    Event,
    Input,
    Moment,
    Origin,
    PeerUp,
    Question,
    Reply,
    Send,
    Stopped,
    Stopping,
    event,
)


@event("mailbox.ball", version=1)
class Ball(Event):
    """A message; the wall returns it, or it stays."""

    returns: bool


@event("mailbox.over", version=1)
class Over(Event):
    """The answer to a game."""


@event("mailbox.game", version=1)
class Game(Question[Over]):
    """How many balls to serve, how many inputs to serve at once, and how many balls with each of them."""

    balls: int
    in_the_air: int
    volley: int


class Player:
    """Serves until the game has had all its balls. It waits for the wall: mail to a peer that is not up yet is lost."""

    def __init__(self, settings: None, rng: Random) -> None:
        del settings, rng
        self._game, self._asked = Game(balls=0, in_the_air=0, volley=1), Origin("")
        self._served = self._back = 0
        self._is_wall_up = False

    def receive(self, message: Input, origin: Origin, now: Moment) -> Iterable[Effect]:
        """See ``Decision``."""
        del now
        if isinstance(message, Game):
            self._game, self._asked, self._served, self._back = message, origin, 0, 0
            if self._is_wall_up:
                yield from self._begin()
        elif isinstance(message, PeerUp):
            self._is_wall_up = True
            yield from self._begin()
        elif isinstance(message, Ball):
            self._back += self._game.volley
            if self._served < self._game.balls:
                yield from self._serve()
            elif self._back >= self._served:
                yield Reply(self._asked, Over())
        elif isinstance(message, Stopping):
            yield Stopped()

    def _begin(self) -> Iterable[Effect]:
        for _ in range(self._game.in_the_air):
            yield from self._serve()

    def _serve(self) -> Iterable[Effect]:
        self._served += self._game.volley
        return [*[Send("wall", STAYS)] * (self._game.volley - 1), Send("wall", RETURNS)]


class Wall:
    """Returns balls."""

    def __init__(self, settings: None, rng: Random) -> None:
        del settings, rng

    def receive(self, message: Input, origin: Origin, now: Moment) -> Iterable[Effect]:
        """See ``Decision``."""
        del origin, now
        if isinstance(message, Ball) and message.returns:
            yield Send("player", RETURNS)
        elif isinstance(message, Stopping):
            yield Stopped()


RETURNS, STAYS = Ball(returns=True), Ball(returns=False)
AGENT = AgentSpec("game", (ActorSpec("player", Player, None), ActorSpec("wall", Wall, None)))
