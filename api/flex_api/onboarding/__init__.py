"""From a machine's files to settings: sites, nodes, logs and zones, and what can move each site."""
