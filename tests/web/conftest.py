"""The application of tests/rest, for the tests of its pages."""

from __future__ import annotations

from tests.rest.conftest import door, doors

__all__ = ["door", "doors"]
