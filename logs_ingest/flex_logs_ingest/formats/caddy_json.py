"""Caddy's JSON, with its `ts` in any form that says when: seconds since 1970, ISO 8601,
Apache's.
"""

from flex_logs_ingest.lines.layout import from_keys

LAYOUT = from_keys(
    {
        "vhost": ("request.host",),
        "time": ("ts",),
        "method": ("request.method",),
        "uri": ("request.uri",),
        "status": ("status",),
        "bytes": ("size",),
        "taken": ("duration",),
    },
    {"taken": "s"},
)
