"""A relay of another name to a site that has the packages already."""

from pathlib import Path

import pytest

from callboard import ConfigError
from callboard.messages.relayed import origin_of
from tests.unit.board.relay.relayed_boards import boards, packages, relay, run


def test_a_second_name_for_the_same_packages_is_refused_unless_it_says_what_it_takes(tmp_path: Path) -> None:
    async def work() -> None:
        async with boards(tmp_path, "centre", "berlin") as (centre, berlin):
            await centre.publisher("main").invalidate(["/a"])
            async with relay(centre, berlin, "berlin") as its:
                await its.caught_up()
            with pytest.raises(ConfigError, match="'berln' is new at this site, and 'berlin' has appended packages"):
                await relay(centre, berlin, "berln").start()
            await centre.publisher("main").invalidate(["/b"])
            for name, options in (("later", {"start": 2}), ("others", {"follows": ("other",), "expect": True})):
                async with relay(centre, berlin, name, **options) as its:
                    await its.caught_up()
            came = [origin_of(record) for record in await packages(berlin)]
            assert [(it.relay, it.last[1]) for it in came if it] == [("berlin", 1), ("later", 2)]

    run(work())
