"""PCP'20: each resource kind is a line of positions; jobs are boxes over time and positions."""
