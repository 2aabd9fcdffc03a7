"""Reference pages say what the program says: settings, verbs, exit codes."""

from __future__ import annotations

import os
import re
from collections.abc import Callable

import pytest

from flex_api.settings.file import Settings
from tests.docs import generated
from tests.docs.pages import DOCS

PAGES: dict[str, Callable[[], str]] = {
    "schemas.md": generated.schemas,
    "settings.md": generated.settings,
    "verbs.md": generated.verbs,
}


@pytest.mark.parametrize("name", PAGES)
def test_a_page_that_is_made_from_the_program_is_in_step_with_it(name: str) -> None:
    path = DOCS / "reference" / name
    made = PAGES[name]()
    if os.environ.get("FLEX_UPDATE"):
        path.write_text(made, encoding="utf-8")
    assert path.read_text(encoding="utf-8") == made, "FLEX_UPDATE=1 writes it again"


def test_every_section_of_the_settings_is_on_its_page() -> None:
    page = generated.settings()
    for name, field in Settings.model_fields.items():
        section = field.alias or name
        assert re.search(rf"^(## `\[+{section}\b|\| `{section}` )", page, re.MULTILINE), section
