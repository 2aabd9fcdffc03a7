"""A made-up cluster and a night of it, made once."""

from __future__ import annotations

from datetime import date

import numpy as np
import pytest

from flex.sim import made_up_cluster


@pytest.fixture(scope="session")
def hosting() -> made_up_cluster.Hosting:
    return made_up_cluster.hosting(np.random.default_rng(1), "hosting.example.")


@pytest.fixture(scope="session")
def accesses(hosting: made_up_cluster.Hosting) -> made_up_cluster.Accesses:
    return made_up_cluster.night(hosting, date(2026, 1, 5), 20_000, np.random.default_rng(2))
