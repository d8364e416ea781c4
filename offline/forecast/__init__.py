"""Forecasts the submissions of the next day or two from past submissions."""

DEFAULT = "seasonal"
"""The default method."""
