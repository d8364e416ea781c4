"""What will be submitted in the next day or two, learned from what was submitted before."""

DEFAULT = "seasonal"
"""The method that is used where none is named."""
