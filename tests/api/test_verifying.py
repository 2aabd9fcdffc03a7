"""What is in force is checked as a whole, or it is said how much of it was not."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from tests.api.conftest import Installation

pytestmark = pytest.mark.real


@pytest.mark.slow
def test_sites_on_a_node_that_is_gone_are_counted_as_not_checked_and_the_rest_is_no_excuse(
    installation: Installation,
) -> None:
    installation.first_night()
    whole = installation.flex("-o", "json", "verify")
    assert (whole.code, whole.json["not_checked"]) == (0, {})
    gone = '[[node]]\nname = "n3"\naddresses = ["192.0.2.3"]\nram = "8 MiB"\n'
    settings = installation.settings.read_text(encoding="utf-8")
    assert gone in settings
    installation.settings.write_text(
        settings.replace(gone, "").replace('node = "n3"', 'node = "n2"'), encoding="utf-8"
    )
    said = installation.flex("-o", "json", "verify")
    missing = said.json["not_checked"]["n3"]
    assert (said.code, said.json["drift"]) == (32, 0)
    assert missing > 0
    assert said.json["servers"][0]["checked"] <= whole.json["servers"][0]["checked"] - missing
    assert (
        f"{missing} sites on n3, which is not known any more: not checked"
        in installation.flex("verify").out
    )
