"""Makes something to audit: rules that are shipped to three offices, one of which is closed, and one refuses a rule.

    python history.py

Run it again, and the rules change once more.
"""

import asyncio
from datetime import UTC, datetime
from pathlib import Path

from callboard import Callboard, HookCall, NotAllImported, Subscriber

RULES = Path("rules")


def no_smoking(call: HookCall) -> None:
    """Raise for a rule that this office does not accept."""
    if "/smoking.txt" in call.paths:
        raise ValueError("smoking is not allowed in Rome")


async def change(board: Callboard, name: str, user: str) -> None:
    """Change a rule, on behalf of somebody."""
    (RULES / f"{name}.txt").write_text(f"{name}, as of {datetime.now(UTC):%H:%M:%S}\n", encoding="utf-8")
    await board.publisher("rules").publish(RULES, [f"/{name}.txt"], deep=False, user=user)


async def work(office: Subscriber) -> None:
    """Import what there is, and close."""
    try:
        await office.caught_up()
    except NotAllImported as error:
        print(error)
    await office.stop()


async def main() -> None:
    """Change rules while some offices are open, and others are not."""
    async with Callboard.from_config() as board:
        oslo = board.subscriber("oslo", into="offices/oslo", editable=True)  # editable ones report each import
        paris = board.subscriber("paris", into="offices/paris", editable=True)
        rome = board.subscriber("rome", into="offices/rome", editable=True, max_retries=0, before_import=no_smoking)
        await change(board, "lunch", user="ann")
        await asyncio.gather(*map(work, (oslo, paris, rome)))
        await change(board, "lunch", user="bob")
        await change(board, "smoking", user="bob")
        await asyncio.gather(*map(work, (paris, rome)))


if __name__ == "__main__":
    RULES.mkdir(exist_ok=True)
    asyncio.run(main())
