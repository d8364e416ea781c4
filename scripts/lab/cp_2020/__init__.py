"""Runs the experiments of paper 003 (PCP'20) and sets our figures beside its own: see docs/reproduction.md."""
