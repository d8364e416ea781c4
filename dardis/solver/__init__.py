"""Bounded solver runs; the only imports of OR-Tools."""
