"""The service of docs/telemetry.md runs as it is written there."""

import asyncio
import re
import sys
from pathlib import Path
from types import ModuleType

import httpx
import pytest

PAGE = Path(__file__).resolve().parents[3] / "docs" / "telemetry.md"


def test_the_service_of_the_document_has_the_endpoints(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    [(_, program)] = re.findall(r"^```python file=(\S+)\n(.*?)^```$", PAGE.read_text(), re.MULTILINE | re.DOTALL)
    module = ModuleType("documented")
    monkeypatch.setitem(sys.modules, "documented", module)
    exec(compile(program, str(PAGE), "exec"), vars(module))

    async def work() -> list[int]:
        service = module.service
        transport = httpx.ASGITransport(service)
        client = httpx.AsyncClient(transport=transport, base_url="http://service/board")
        async with service.router.lifespan_context(service), client:
            return [(await client.get(path)).status_code for path in ("livez", "metrics", "healthz")]

    assert asyncio.run(work()) == [200, 200, 503], "the subscriber is not ready in the first seconds"
