"""The API answers for subscribers of a site, whose names have a slash."""

import httpx
from starlette.applications import Starlette

from callboard.web.api.routes import api_routes
from tests.unit.board.sites.site import site
from tests.web.api.test_answers_fit_the_document import check, schema_of
from tests.web.served import run


@run
async def test_a_subscriber_of_a_site_has_its_place_in_the_api(tmp_path):
    async with site(tmp_path) as it:
        await it.told(lambda told: told.subscribers == 2)
        transport = httpx.ASGITransport(Starlette(routes=api_routes(it.centre)))
        async with httpx.AsyncClient(transport=transport, base_url="http://here/api/v1") as client:
            for edge in ("berlin/edge-1", "berlin%2Fedge-1"):
                found = (await client.get(f"/subscribers/{edge}/queue")).json()
                assert (found["status"], found["data"]["subscriber"], found["data"]["size"]) == (
                    "ok",
                    "berlin/edge-1",
                    0,
                )
            envelope = (await client.get("/subscribers/berlin/site")).json()
            check(envelope, schema_of("site"))
            found = envelope["data"]
            assert [row["name"] for row in found["rows"]] == ["berlin/edge-1", "berlin/edge-2"]
            assert (await client.get("/subscribers/berlin")).json()["data"]["site"]["subscribers"] == 2
            found = (await client.get("/subscribers/berlin/edge-1/explanation", params={"path": "/a"})).json()["data"]
            assert found["brought"]["offset"] == 1
            assert (await client.get("/errors", params={"subscriber": "berlin/edge-1"})).json()["data"]["items"] == []
            for path, status, code in (
                ("/subscribers/berlin/edge-1", 400, "at_site"), ("/subscribers/berlin/edge-1/ready", 400, "at_site"),
                ("/subscribers/berlim/edge-1", 404, "unknown_name"), ("/subscribers/berlin//site", 400, "invalid"),
                ("/subscribers/berlin/edge-9/site", 404, "unknown_name"),
            ):  # fmt: skip
                answer = await client.get(path)
                assert (answer.status_code, answer.json()["diagnostics"][0]["code"]) == (status, code), path
