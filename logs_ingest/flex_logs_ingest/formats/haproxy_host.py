"""HAProxy's `option httplog` with the Host header as the first captured one (`capture request
header Host len 64`).
"""

from dataclasses import replace

from flex_logs_ingest.formats.format_directive import from_nginx

LAYOUT = replace(
    from_nginx(
        "$syslog_and_client [$time_local] $frontend $server $timers_of_haproxy $status $bytes_sent "
        '$request_cookie $response_cookie $termination $connections $queues {$host} "$request"'
    ),
    stops=b"|}",
).replace_time_pattern(rb" \{[\w-]+(\.[\w-]+)+(:\d+)?[|}]")
