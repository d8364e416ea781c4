"""PCP'20: resources of a kind as a line of positions, and what jobs take of it as boxes over time and positions."""
