"""What tests/rest and tests/api have, for the tests of the pages."""

from __future__ import annotations

from tests.api.conftest import empty, free_zones, installation, key, named, open_folder
from tests.rest.conftest import door, doors

__all__ = ["door", "doors", "empty", "free_zones", "installation", "key", "named", "open_folder"]
