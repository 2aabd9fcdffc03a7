"""Apache's log as netnea's tutorials extend it: combined, its time without a zone, then the virtual
host and more.

Its times are the server's own and are taken as UTC: run Apache with TZ=UTC.
"""

from flex_logs_ingest.formats.format_directive import from_apache

LAYOUT = from_apache(
    '%h %{GEOIP_COUNTRY_CODE}e %u [%{%F %T}t.%{usec_frac}t] "%r" %>s %b '
    '"%{Referer}i" "%{User-Agent}i" %v %A %p'
).replace_time_pattern(rb" \[\d{4}-\d\d-\d\d \d\d:\d\d:\d\d\.\d+\] .*\" \S+ [\da-f.:]+ \d+ ")
