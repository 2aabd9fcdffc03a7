"""Traffic that never was: made-up clusters and their logs, to show and to test FLEX with."""
