"""Members of two clusters on two logs, connected by the code in ``docs/topology.md``."""

import asyncio
import re
import secrets
import textwrap
from pathlib import Path
from typing import Any

import pytest

from callboard.board.member.member import Member
from tests.unit.board.member.clusters import Cluster, eventually

PAGE = (Path(__file__).resolve().parents[2] / "docs/topology.md").read_text(encoding="utf-8")
(CODE,) = re.findall(r"^```python\n(from callboard\.connectors import .*?)^```$", PAGE, re.MULTILINE | re.DOTALL)


def connected(key: Path, url: str) -> Any:
    """The code as a function of a member and what is awaited while it is connected."""
    code = CODE.replace("/run/secrets/connectors.key", str(key)).replace("0.0.0.0:7411", "127.0.0.1:0")
    code = code.replace('"192.0.2.0/24"', '"127.0.0.1"')
    code = re.sub(r"urls=.*", f"urls=(({url!r},),)," if url else "", code)
    made: dict[str, Any] = {}
    body = textwrap.indent(f"{code}\n    await meanwhile(connectors)\n", "    ")
    exec(f"async def connect(member, meanwhile):\n{body}", made)
    return made["connect"]


def seen(member: Member) -> list[str]:
    return [each.instance for each in member.topology().instances]


@pytest.mark.proves("T69")
def test_members_of_connected_clusters_see_each_other_in_their_topology(tmp_path):
    key = tmp_path / "ring.key"
    key.write_text(secrets.token_hex(32))
    key.chmod(0o600)
    for name in "ab":
        (tmp_path / name).mkdir()

    async def scenario() -> None:
        async with Cluster(tmp_path / "a") as one, Cluster(tmp_path / "b") as other:
            a = await one.add("a", cluster="red", lease_s=30)
            b = await other.add("b", cluster="blue", lease_s=30)
            await a.settled()
            await b.settled()

            async def listening(at_a):
                url = f"http://127.0.0.1:{at_a.port}/callboard/topology"

                async def calling(_):
                    await eventually(lambda: seen(a) == ["a", "b"] and seen(b) == ["b", "a"])
                    assert [cluster.cluster_id for cluster in a.topology().clusters] == ["red", "blue"]
                    await b.set_properties({"zone": "west"})
                    await eventually(lambda: a.topology().instances[1].properties == {"zone": "west"})
                    await other.add("c", lease_s=30)
                    await eventually(lambda: seen(a) == ["a", "b", "c"])
                    await eventually(lambda: a.is_leader() and b.is_leader())

                await connected(key, url)(b, calling)
                await eventually(lambda: seen(a) == ["a"])

            await connected(key, "")(a, listening)

    asyncio.run(scenario())
