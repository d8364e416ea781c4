"""Applies exported requests to the controllers of nodes at their times: what is wished, what is done, and with whom."""
