"""Forecasts the submissions of the next day or two."""

DEFAULT = "seasonal"
