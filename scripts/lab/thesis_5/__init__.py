"""Runs the experiment of the thesis's section 5.5 and sets our figures beside its own: see docs/reproduction.md."""
