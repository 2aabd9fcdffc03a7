"""The web report: a module a page. Each asks what the REST API answers and puts it into its template, nothing else."""

from __future__ import annotations

from flex_api.pages import account, jobs, overview, plans

# In this order a path is looked for.
PAGES = (overview, plans, jobs, account)
