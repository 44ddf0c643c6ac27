"""What the tests of the contract share."""

from collections.abc import Iterator

import pytest

from tests.helpers.subjects import Subjects


@pytest.fixture(scope="session")
def subjects() -> Iterator[Subjects]:
    """For classes that neither hang nor end the interpreter."""
    with Subjects() as found:
        yield found
