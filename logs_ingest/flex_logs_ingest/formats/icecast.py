"""Icecast's: combined with the seconds that a listener stayed. Apache's %D or %T behind combined
looks the same.

So nobody can tell what the number is, and no time is counted.
"""

from dataclasses import replace

from flex_logs_ingest.formats.format_directive import from_apache

LAYOUT = replace(
    from_apache('%h %l %u %t "%r" %>s %b "%{Referer}i" "%{User-Agent}i" %T'),
    lead=b"",
    after=(),
    units=(),
).ending(b'" #')
