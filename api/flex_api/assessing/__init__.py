"""What FLEX would bring a cluster, from its logs alone: no settings, no database, no rights."""
