"""HTML reports of runs, from their files."""
