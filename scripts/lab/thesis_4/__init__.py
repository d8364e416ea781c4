"""Reproduces the thesis's chapter 4: the Eurora scheduler against two set-ups of PBS."""
