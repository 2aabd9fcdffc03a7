"""The outermost ring: the command line, the pages, the settings, and the wiring of everything
else.
"""

from flex_api.lazy_imports import put_off

put_off("pandas", "duckdb", "psycopg", "flex_solver")
# What only some settings or some verbs need, but modules name that every verb needs.
put_off(
    "dns.query", "flex_dns.checks.servers_to_check", "flex_dns.preflight.primary_check"
)
put_off(
    "flex_logs_ingest.counts.file_table",
    "flex_logs_ingest.formats",
    "flex_logs_ingest.reading.read_logs",
)
put_off(
    "flex_api.night.deliver_haproxy_files",
    "flex_api.night.probing",
    "flex_api.night.warm_command",
    "flex_api.night.warm_nodes_that_sites_come_to",
)
