"""Measures how CPU time a job grows with nodes, reservations and waiting jobs, and fits power laws to it."""
