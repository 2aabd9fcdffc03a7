"""Common behind the virtual host's name, with its port or without."""

from flex_logs_ingest.formats.format_directive import from_apache

LAYOUT = from_apache('%v:%p %h %l %u %t "%r" %>s %O').ending(b'" # #')
