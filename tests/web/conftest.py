"""What tests/rest and tests/api have, for the tests of the pages."""

from __future__ import annotations

import pytest

from tests.api.conftest import empty, free_zones, home, installation, key, named, open_folder
from tests.rest.conftest import Door, door, doors
from tests.web.scriptless import Browser

__all__ = [
    "door",
    "doors",
    "empty",
    "free_zones",
    "home",
    "installation",
    "key",
    "named",
    "open_folder",
]


@pytest.fixture
def admin(door: Door) -> Browser:
    return Browser(door, "admin")
