"""What Slurm says of a machine's nodes: `scontrol show node`, or a slurm.conf, as records of nodes and partitions."""
