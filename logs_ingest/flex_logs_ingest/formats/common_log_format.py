"""Apache's and nginx's shortest: nothing behind the bytes; it does not say which site was asked."""

from flex_logs_ingest.formats.format_directive import from_apache

LAYOUT = from_apache('%h %l %u %t "%r" %>s %b').ending(b'" # #')
