"""The pages of the web report, one module for each. A page asks what the REST API answers and puts
it into its template. It does nothing else.
"""

from __future__ import annotations

from flex_api.pages import (
    audit,
    dns,
    glossary,
    history,
    jobs,
    logs,
    moves,
    nodes,
    overview,
    plans,
    replicated_sites,
    search_and_theme,
    settings_pages,
    simulate,
    site,
    sites,
    what_if,
)

# In this order a path is looked for.
PAGES = (
    overview,
    plans,
    sites,
    site,
    moves,
    nodes,
    what_if,
    history,
    dns,
    logs,
    replicated_sites,
    simulate,
    audit,
    settings_pages,
    jobs,
    search_and_theme,
    glossary,
)
