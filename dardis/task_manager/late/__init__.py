"""Late binding: jobs get nodes when they can start."""
