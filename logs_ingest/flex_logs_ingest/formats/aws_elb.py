"""AWS's classic load balancer; the host of the URL is the site."""

from dataclasses import replace

from flex_logs_ingest.formats.format_directive import from_nginx

LAYOUT = replace(
    from_nginx(
        "$time_iso8601 $balancer $client $server $waited $timer_of_aws_target $answered "
        '$status $server_status $received $bytes_sent "$request" "$http_user_agent"'
    ),
    url_site=True,
)
