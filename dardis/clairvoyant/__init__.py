"""Offline optimum with all jobs known: a lower bound and a good schedule."""
