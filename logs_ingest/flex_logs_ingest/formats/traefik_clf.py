"""Traefik's common format: combined, then the request's number, router, server and duration. The
router is the site.
"""

from flex_logs_ingest.formats.format_directive import from_nginx

LAYOUT = from_nginx(
    '$remote_addr - $remote_user [$time_local] "$request" $status $body_bytes_sent '
    '"$http_referer" "$http_user_agent" $number "$host" "$server" $timer_of_traefik'
).replace_time_pattern(rb'" \d+ "[^"]*" "[^"]*" \d+ms')
