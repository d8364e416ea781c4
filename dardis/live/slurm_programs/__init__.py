"""Slurm's programs in front of the live service. Source: manual pages of Slurm 25.05."""
