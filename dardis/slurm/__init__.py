"""Observes a real Slurm cluster through its client programs, and steers a partition of it."""
