"""Slurm's programs for users, in front of the live service: sbatch, srun, squeue, scancel, sacct and scontrol show."""
