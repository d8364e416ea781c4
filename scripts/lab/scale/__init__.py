"""Curves of two runs of `scripts/lab/run scale` in one picture."""
