"""Traefik's JSON. What it sent to the client counts, not what it got from the server behind."""

from flex_logs_ingest.lines.layout import from_keys

LAYOUT = from_keys(
    {
        "vhost": ("RequestHost", "RequestAddr"),
        "time": ("StartUTC", "time", "StartLocal"),
        "method": ("RequestMethod",),
        "uri": ("RequestPath",),
        "status": ("DownstreamStatus",),
        "bytes": ("DownstreamContentSize",),
        "upstream": ("OriginDuration",),
        "taken": ("Duration",),
    },
    {"upstream": "ns", "taken": "ns"},
)
