"""The processor time of sites, by the counters of their cgroups."""
