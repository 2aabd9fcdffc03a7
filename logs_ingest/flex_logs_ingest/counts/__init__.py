"""What readings counted, as files on disk: written, merged, added up, deleted."""

# Days before a period in which the size of an object is looked for that the period itself saw only
# as 304 or in parts. A guess.
#
# It stands here, beside no imports, because the settings are checked against it.
SIZE_LOOKBACK_DAYS = 30
