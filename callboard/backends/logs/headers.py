"""Record headers as one blob: names and values in turn, UTF-8, with a NUL after each but the last."""

from itertools import chain

from callboard.messages.record import Headers


def encode_headers(headers: Headers) -> bytes:
    """The blob; empty for no headers. Raises ``ValueError`` for a NUL in a name or value."""
    if not headers:
        return b""
    flat = "\0".join(chain.from_iterable(headers))
    if flat.count("\0") != 2 * len(headers) - 1:
        raise ValueError("a record header holds a NUL character; encode such a value, as base64 for instance")
    return flat.encode()


def decode_headers(blob: bytes) -> Headers:
    """The headers that ``encode_headers`` made the blob of."""
    if not blob:
        return ()
    flat = iter(blob.decode().split("\0"))
    return tuple(zip(flat, flat))  # noqa: B905 - an even number by construction, and strict costs a third
