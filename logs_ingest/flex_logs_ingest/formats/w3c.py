"""W3C extended, IIS's and others': the columns are those that the log names. IIS's site number
where no host is.
"""

from flex_logs_ingest.lines.layout import from_columns

LAYOUT = from_columns(
    {
        "vhost": ("cs-host", "cs(host)", "s-sitename"),
        "date": ("date",),
        "time": ("time",),
        "method": ("cs-method",),
        "uri": ("cs-uri-stem", "cs-uri"),
        "status": ("sc-status", "c-status"),
        "bytes": ("sc-bytes",),
        "taken": ("time-taken",),
    },
    {"taken": "w3c"},
)
