"""A JSON object per line, with nginx's variables under their usual names."""

from __future__ import annotations

from collections.abc import Mapping

from flex_logs_ingest.lines.layout import Field, from_keys

_KEYS: Mapping[Field, tuple[str, ...]] = {
    "vhost": ("vhost", "host", "http_host", "server_name"),
    "time": ("time_iso8601", "time", "timestamp", "time_local", "msec", "@timestamp", "date"),
    "request": ("request",),
    "method": ("method", "request_method"),
    "uri": ("uri", "request_uri", "path"),
    "status": ("status",),
    "bytes": ("bytes_sent", "body_bytes_sent", "bytes", "length"),
    "upstream": ("upstream_response_time",),
    "taken": ("request_time",),
}
LAYOUT = from_keys(_KEYS, {"upstream": "s", "taken": "s"})
