"""What is on the topic of accounts, by the rule of commits alone."""

from callboard import Callboard
from callboard.messages.entities.entity_messages import EntityCommitMessage
from callboard.messages.entities.sealing import opened
from callboard.messages.headers import open_record
from tests.unit.actors.entities.bank import Moved

TOPIC = "callboard.entity.test_bank.account"


async def history(board: Callboard) -> tuple[dict[str, int], dict[str, int]]:
    """The offset of each command that counts, and the balance of each account."""
    made: dict[str, int] = {}
    balances: dict[str, int] = {}
    last: dict[str, int] = {}
    start = (await board.log.bounds(TOPIC)).first
    while records := await board.log.read(TOPIC, start):
        for record in records:
            commit = open_record(record, EntityCommitMessage)
            if commit.previous != last.get(commit.key, 0):
                continue
            assert commit.command_id not in made, "a command counts once"
            last[commit.key], made[commit.command_id] = commit.commit_id, record.offset
            moved = sum(each.cents for each in map(opened, commit.events) if isinstance(each, Moved))
            balances[commit.key] = 0 if commit.ended else balances.get(commit.key, 0) + moved
        start = records[-1].offset + 1
    return made, balances
