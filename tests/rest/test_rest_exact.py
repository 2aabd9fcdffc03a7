"""What test_rest_schema.py asks of a store in memory, asked many more times of real databases."""

from __future__ import annotations

import os
from collections.abc import Callable
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

import pytest
import schemathesis
from hypothesis import HealthCheck, settings
from schemathesis.config import SchemathesisConfig

from flex.store import migrate, open_store
from flex_api import manage_tokens
from flex_api.app import create_app
from flex_api.manage_tokens import Caller
from tests.memory_publisher import MemoryPublisher
from tests.rest.conftest import still
from tests.rest.test_rest_schema import CONFIG, REFUSALS, SETTINGS, node_id

if TYPE_CHECKING:
    from fastapi import FastAPI

    from flex.store import Store
    from tests.postgresql import Cluster

__all__ = ["node_id"]

pytestmark = pytest.mark.torture

EXAMPLES = int(os.environ.get("EXAMPLES", "100"))
# What takes long is worked out for one after the other; so many questions in a row are told to
# wait.
BUSY = {
    "checks": CONFIG["checks"]
    | {"positive_data_acceptance": {"expected-statuses": [*REFUSALS, "429"]}}
}


schema = schemathesis.pytest.from_fixture("document")


@pytest.fixture(scope="module", params=["sqlite", "postgresql"])
def store(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Store:
    if request.param == "postgresql":
        cluster: Cluster = request.getfixturevalue("cluster")
        url = cluster.new_database()
    else:
        url = f"sqlite:///{tmp_path_factory.mktemp('exact')}/flex.db"
    migrate.upgrade(url)
    return open_store(url)


@pytest.fixture(scope="module")
def secret(store: Store, filling: Callable[[Store], Store]) -> str:
    now = datetime.now(UTC)
    return manage_tokens.create(filling(store), Caller("root", "admin"), "root", "admin", now)[1]


@pytest.fixture(scope="module")
def app(store: Store) -> FastAPI:
    return create_app(
        SETTINGS, store, lambda: MemoryPublisher(("example.org.",), "flex"), ticks=still
    )


# Any: schemathesis's own view of the document.
@pytest.fixture(scope="module")
def document(app: FastAPI) -> Any:
    return schemathesis.openapi.from_asgi(
        "/api/openapi.json", app, config=SchemathesisConfig.from_dict(BUSY)
    )


@schema.exclude(path_regex="/events$").parametrize()
@settings(max_examples=EXAMPLES, deadline=None, suppress_health_check=list(HealthCheck))
def test_no_answer_is_other_than_the_document_says(case: Any, secret: str) -> None:
    case.call_and_validate(headers={"Authorization": f"Bearer {secret}"})
