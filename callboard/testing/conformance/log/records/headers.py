"""Headers."""

from callboard.messages.record import Headers
from callboard.testing.conformance.log.harness import LogHarness, new, opened, read_all


async def check_headers_come_back_as_written(harness: LogHarness) -> None:
    """In order, with repeated names, empty values and any text, record by record."""
    written: list[Headers] = [
        (("type", "PackageMessage"), ("version", "1")),
        (),
        (("b", "2"), ("a", "1"), ("b", "3")),
        (("empty", ""),),
        (("text", "Grüße \n\t 日本 🎭"),),
    ]
    async with opened(harness) as log:
        await log.append(harness.topic, [new("x", headers=headers) for headers in written])
        found = await read_all(log, harness.topic)
        assert [record.headers for record in found] == written
        assert found[2].header("b") == "2"
        assert found[2].header("c") == ""
