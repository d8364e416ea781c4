"""Runs the experiment of the thesis's section 7.6 and sets our figures beside its own: see docs/reproduction.md."""
