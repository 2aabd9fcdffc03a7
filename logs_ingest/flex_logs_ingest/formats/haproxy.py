"""HAProxy's `option httplog`, behind whatever syslog puts before it; the frontend is the site.

Its times have no zone and are taken as UTC: run HAProxy with TZ=UTC.
"""

import re
from dataclasses import replace

from flex_logs_ingest.formats.format_directive import from_nginx

# Captured headers, if there are any, stand before the request. A frontend that speaks TLS has a
# tilde behind its name. Combined lines with more behind them have a time, a status and bytes too,
# but not these between them.
TIMERS = rb" [-+\d]+(/[-+\d]+){4} (\d{3}|-1) \+?\d+ "
# As `option logasap` writes them.
TOO_EARLY = re.compile(rb" [-\d]+(/[-\d]+){3}/\+\d+ (\d{3}|-1) \+\d+ ")

LAYOUT = replace(
    from_nginx(
        "$syslog_and_client [$time_local] $host $server $timers_of_haproxy $status $bytes_sent "
        '$request_cookie $response_cookie $termination $connections $queues "$request"'
    ),
    stops=b"~",
).replace_time_pattern(TIMERS)
