"""AWS CloudFront's standard log: columns parted by tabs; the host that the visitor named is the
site.
"""

from flex_logs_ingest.lines.layout import from_columns

LAYOUT = from_columns(
    {
        "vhost": ("x-host-header", "cs(host)"),
        "date": ("date",),
        "time": ("time",),
        "method": ("cs-method",),
        "uri": ("cs-uri-stem",),
        "status": ("sc-status",),
        "bytes": ("sc-bytes",),
        "taken": ("time-taken",),
    },
    {"taken": "s"},
).replace_time_pattern(rb"\t")
