"""Runs the experiments of paper 002 (PCP'19, HCP'19), our figures beside its own: see docs/reproduction.md."""
