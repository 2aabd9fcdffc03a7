"""What readings counted, as files on disk: written, merged, added up, deleted."""
