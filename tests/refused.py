"""What a test says of a request that is refused: the code, which stays when the words change."""

import pytest

from callboard.errors import RefusalCode, RequestRefused


def refused(code: RefusalCode) -> pytest.RaisesExc[RequestRefused]:
    """Expects that what is in the block is refused with this code."""
    return pytest.raises(RequestRefused, check=lambda error: error.code == code)
