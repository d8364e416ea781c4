"""Slurm nodes and partitions from `scontrol show node` or slurm.conf."""
