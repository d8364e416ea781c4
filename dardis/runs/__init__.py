"""Run, from its request to its folder."""
