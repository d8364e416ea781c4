"""Comparisons of dispatchers."""
