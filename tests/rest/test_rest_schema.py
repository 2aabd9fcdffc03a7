"""The OpenAPI document is exact: schemathesis sends what it allows and what it forbids, with every
check it has.
"""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
import schemathesis
from hypothesis import HealthCheck, Phase, settings
from schemathesis.config import SchemathesisConfig

from flex.store import MemoryStore
from flex_api import manage_tokens
from flex_api.app import create_app
from flex_api.manage_tokens import Caller
from flex_api.settings.file import parse
from tests.memory_publisher import MemoryPublisher
from tests.rest.conftest import still
from tests.thorough import times

if TYPE_CHECKING:
    from collections.abc import Callable

    from flex.store import Store

# What is valid by its shape can still be refused for what is there: that is what these answers say.
REFUSALS = ["2xx", "304", "401", "403", "404", "409", "412", "422", "423", "428", "502", "503"]
CONFIG = {
    "checks": {
        # What the server asks, HAProxy or a name server, may be away; 500 is never right.
        "not_a_server_error": {"expected-statuses": ["2xx", "3xx", "4xx", "502", "503"]},
        "positive_data_acceptance": {"expected-statuses": REFUSALS},
        "negative_data_rejection": {
            "expected-statuses": [
                "400",
                "401",
                "403",
                "404",
                "405",
                "406",
                "412",
                "413",
                "415",
                "422",
                "428",
            ]
        },
        "missing_required_header": {"expected-statuses": ["401", "422", "428"]},
    }
}


NODES = [{"name": f"n{at}", "addresses": [f"192.0.2.1{at}"], "ram": "1 GiB"} for at in (1, 2, 3)]
SETTINGS = parse(
    {
        "schema": 1,
        "node": NODES,
        "api": {"requests_per_second": 0},
        # What is planned here is nobody's: it need not be good.
        "solver": {"engine": "greedy"},
    },
    Path("flex.toml"),
)
STORE = MemoryStore()
APP = create_app(SETTINGS, STORE, lambda: MemoryPublisher(("example.org.",), "flex"), ticks=still)


# To make the questions of all routes takes seconds: only where they are asked.
# Any: schemathesis's own view of the document.
def _document(every_limit: bool) -> Any:
    config = {**CONFIG, "phases": {"coverage": {"enabled": every_limit}}}
    return schemathesis.openapi.from_asgi(
        "/api/openapi.json", APP, config=SchemathesisConfig.from_dict(config)
    )


@pytest.fixture(scope="module")
def document() -> Any:
    return _document(every_limit=False)


@pytest.fixture(scope="module")
def document_and_its_limits() -> Any:
    return _document(every_limit=True)


schema = schemathesis.pytest.from_fixture("document")
schema_and_its_limits = schemathesis.pytest.from_fixture("document_and_its_limits")


@pytest.fixture(autouse=True)
def node_id(request: pytest.FixtureRequest) -> None:
    """What schemathesis looks for in a test, where pytest has it no more."""
    request.node._nodeid = request.node.nodeid


@pytest.fixture(scope="module")
def secret(filling: Callable[[Store], Store]) -> str:
    now = datetime.now(UTC)
    return manage_tokens.create(filling(STORE), Caller("root", "admin"), "root", "admin", now)[1]


FEW = settings(max_examples=times(3), derandomize=True, suppress_health_check=list(HealthCheck))


@schema.exclude(path_regex="/events$").parametrize()
@FEW
def test_no_answer_is_other_than_the_document_says(case: Any, secret: str) -> None:
    case.call_and_validate(headers={"Authorization": f"Bearer {secret}"})


@pytest.mark.slow
@schema_and_its_limits.exclude(path_regex="/events$").parametrize()
@settings(FEW, phases=[Phase.explicit])
def test_no_answer_is_other_at_any_limit_of_the_document(case: Any, secret: str) -> None:
    case.call_and_validate(headers={"Authorization": f"Bearer {secret}"})
