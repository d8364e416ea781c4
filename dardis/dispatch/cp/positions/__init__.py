"""PCP'20: each resource kind is a line of positions, and jobs use boxes over time and positions."""
