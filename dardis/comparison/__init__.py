"""Comparisons of dispatchers: planned runs, earlier results, and worker processes."""
