"""The binary log of the 1998 World Cup's servers: records.py writes its records as lines of this layout."""

from dataclasses import replace

from flex_logs_ingest.directive import from_nginx

LAYOUT = replace(from_nginx("$msec $request_method $request_uri $status $bytes_sent"), kind="records")
