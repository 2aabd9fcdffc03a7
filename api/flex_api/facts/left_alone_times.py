"""When people last said whether FLEX leaves a site alone.

Takes the audit log, which has also what was taken back since. Returns a time for each site that
they said something of. Does not look into a zone.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime

from flex.model.audit_chain import Entry
from flex.store import Store
from flex.zones.decisions_in_markers import LastWords

# In what the audit log has of a wish that decides it. Campaigns leave it to the wish beneath them.
# Only another end is told of a campaign that lasts longer than it did.
_DECIDING = ('"campaign":""', '"excluded":', '"until":')


def last_words(store: Store, now: datetime) -> LastWords:
    told = last_entries(store)
    return LastWords({site: entry.time for site, entry in told.items()}, now)


def last_entries(store: Store) -> Mapping[str, Entry]:
    """The entry that tells of each site's last word."""
    return store.last_of_each("pin.put", "pin.drop", saying=_DECIDING)
