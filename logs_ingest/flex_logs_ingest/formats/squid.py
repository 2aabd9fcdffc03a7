"""Squid's native format; the host of the URL is the site, as where Squid stands before web
servers.
"""

from dataclasses import replace

from flex_logs_ingest.formats.format_directive import from_nginx

# The duration is padded with spaces. Neither it nor the client holds a slash, which parts Squid's
# verdict and status.
LAYOUT = replace(
    from_nginx(
        "$msec $timer_of_squid_and_client/$status $bytes_sent $request_method $request_uri $user"
    ),
    url_site=True,
)
