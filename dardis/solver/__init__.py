"""The only door to OR-Tools: bounded runs that report status, bound and gap. Knows no job and no node."""
