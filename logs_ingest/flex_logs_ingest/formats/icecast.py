"""Icecast's: combined with the seconds that a listener stayed. Apache's %D or %T behind combined
looks the same.
"""

from flex_logs_ingest.formats.format_directive import from_apache

LAYOUT = from_apache(
    '%h %l %u %t "%r" %>s %b "%{Referer}i" "%{User-Agent}i" %T'
).ending(b'" #')
