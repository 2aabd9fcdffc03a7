"""Apache's and nginx's default, with or without referrer and user agent; it does not say which site was asked."""

from flex_logs_ingest.layout import from_apache

LAYOUT = from_apache('%h %l %u %t "%r" %>s %b "%{Referer}i" "%{User-Agent}i"')
