"""Experiments of `dardis scale`: what rounds cost on machines of any size, measured and predicted."""
