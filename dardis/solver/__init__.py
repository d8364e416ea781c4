"""The only door to OR-Tools: bounded runs that say what they found, how good it is and why they ended."""
