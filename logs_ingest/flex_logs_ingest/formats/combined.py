"""Apache's and nginx's default: referrer and user agent behind common; it does not say which site
was asked.
"""

from flex_logs_ingest.formats.format_directive import from_apache

LAYOUT = from_apache('%h %l %u %t "%r" %>s %b "%{Referer}i" "%{User-Agent}i"')
