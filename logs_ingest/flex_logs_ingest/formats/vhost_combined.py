"""Combined behind the virtual host's name, with its port or without: Debian's
other_vhosts_access.log.
"""

from flex_logs_ingest.formats.format_directive import from_apache

LAYOUT = from_apache('%v:%p %h %l %u %t "%r" %>s %O "%{Referer}i" "%{User-Agent}i"')
