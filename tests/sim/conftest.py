"""A made-up cluster and a night of it, made once."""

from __future__ import annotations

from datetime import date

import numpy as np
import pytest

from flex.sim import twin


@pytest.fixture(scope="session")
def hosting() -> twin.Hosting:
    return twin.hosting(np.random.default_rng(1), "hosting.example.")


@pytest.fixture(scope="session")
def accesses(hosting: twin.Hosting) -> twin.Accesses:
    return twin.night(hosting, date(2026, 1, 5), 20_000, np.random.default_rng(2))
