"""The outermost ring: command line, pages, settings, and the wiring of everything else."""
