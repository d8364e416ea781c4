"""Curves of two runs of `scripts/reproduce/scale` in one picture."""
