"""Measures what a decision costs by nodes, DARDIS beside rules, as the thesis's table 5.2: see docs/reproduction.md."""
