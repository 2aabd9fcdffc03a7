"""Access logs: from bytes on disk to counts per site and target, each line once."""
