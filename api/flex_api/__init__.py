"""The outermost ring: command line, pages, settings, and the wiring of everything else."""

from flex_api.later import put_off

put_off("pandas", "duckdb", "psycopg", "flex_solver")
