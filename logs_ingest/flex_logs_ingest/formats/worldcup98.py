"""The binary log of the 1998 World Cup's servers: scan/worldcup_binary_logs.py writes its records
as lines of this layout.
"""

from flex_logs_ingest.lines.layout import Layout, Op

LAYOUT = Layout(
    "records", ops=tuple(Op(field, b" ") for field in ("time", "method", "uri", "status", "bytes"))
)
