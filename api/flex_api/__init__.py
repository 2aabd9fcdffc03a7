"""The outermost ring: the command line, the pages, the settings, and the wiring of everything
else.

Most verbs need little of FLEX, and help and errors of usage need none of it. So a module says
`from flex_api.night import leases` and then `leases.lease(…)`: what is put off here is loaded at
that moment. What only annotations name is imported under TYPE_CHECKING.
"""

from flex_api.lazy_imports import put_off, put_off_modules_of

put_off("numpy", "pandas", "duckdb", "psycopg", "dns.query", "flex_solver")
# What modules name for all that they do, and a verb needs for the one thing that it is asked for.
put_off_modules_of(
    "flex_api",
    "flex_api.facts",
    "flex_api.in_words",
    "flex_api.night",
    "flex_api.report",
    "flex_api.schemas",
    "flex_api.settings",
    "flex_api.simulation",
    "flex_api.wishes",
    "flex_dns",
    "flex_dns.checks",
    "flex_dns.preflight",
    "flex_dns.update",
    "flex_dns.wire",
    "flex_dns.zone",
    "flex.placing",
    "flex.planning",
    "flex.routing",
    "flex.zones",
    "flex_logs_ingest",
    "flex_logs_ingest.counts",
    "flex_logs_ingest.files",
    "flex_logs_ingest.parcels",
    "flex_logs_ingest.reading",
    "flex_logs_ingest.scan",
)
put_off("flex.store.migrate", "flex_api.cli.is_started_by_timer", "flex_api.cli.progress_bar")
