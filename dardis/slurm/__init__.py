"""Observes a real Slurm cluster through its client programs."""
