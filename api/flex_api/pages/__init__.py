"""The pages of the web report, one module for each. A page asks what the REST API answers and puts
it into its template. It does nothing else.
"""

from __future__ import annotations

from flex_api.pages import (
    account,
    audit,
    data,
    dns,
    glossary,
    history,
    jobs,
    nodes,
    overview,
    plans,
    routing,
    settings,
    simulate,
    site,
    sites,
    what_if,
)

# In this order a path is looked for.
PAGES = (
    overview, plans, sites, site, nodes, what_if, history, dns, data, routing, simulate, audit,
    settings, jobs, account, glossary,
)  # fmt: skip
