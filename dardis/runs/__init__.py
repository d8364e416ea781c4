"""A run, from its request to its folder."""
